#include "python/autograd/arrays.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "headlight/base/error.h"
#include "headlight/ops/layout.h"

namespace headlight::python {
namespace {

nb::object numpy() { return nb::module_::import_("numpy"); }

nb::dlpack::dtype dlpack_type(DType dtype) {
  return dispatch_any(dtype, [](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, BFloat16>) {
      return nb::dlpack::dtype{};  // converted before
    } else {
      return nb::dtype<T>();
    }
  });
}

const void* elements_of(const Tensor& tensor) {
  return dispatch_any(tensor.dtype(), [&](auto element) -> const void* {
    return tensor.data<decltype(element)>();
  });
}

template <class T>
Tensor copied(const void* elements, const Shape& shape) {
  Tensor tensor = Tensor::empty(shape, dtype_of<T>());
  if (tensor.numel() > 0) {
    std::memcpy(tensor.data<T>(), elements, static_cast<std::size_t>(tensor.numel()) * sizeof(T));
  }
  return tensor;
}

// `Integer`: the type of the elements.
template <class Integer>
Tensor narrowed(const void* elements, const Shape& shape, std::string_view about) {
  const auto* from = static_cast<const Integer*>(elements);
  Tensor tensor = Tensor::empty(shape, DType::int32);
  auto* into = tensor.data<std::int32_t>();
  for (Index i = 0; i < tensor.numel(); ++i) {
    require_value(std::in_range<std::int32_t>(from[i]), about, "expected integers of 32 bits, got ",
                  from[i]);
    into[i] = static_cast<std::int32_t>(from[i]);
  }
  return tensor;
}

// Returns the type that holds a NumPy type; bfloat16: none does.
DType stored_type(std::string_view kind, Index bytes) {
  if (kind == "f") {
    return bytes > 4 ? DType::float64 : DType::float32;
  }
  return kind == "b" ? DType::boolean : kind == "i" || kind == "u" ? DType::int32 : DType::bfloat16;
}

bool converts(DType from, DType into) {
  return from == into || (is_floating(into) && from != DType::bfloat16 && from != DType::boolean &&
                          into != DType::bfloat16);
}

// The elements of a contiguous NumPy array.
class Buffer {
 public:
  explicit Buffer(const nb::object& array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_SIMPLE) != 0) {
      throw nb::python_error();
    }
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const void* elements() const { return view_.buf; }

 private:
  Py_buffer view_{};
};

// Shape of rows [N, ...] as sequences.
Shape padded_shape(const Tensor& rows, const std::vector<Index>& offsets) {
  Shape shape = rows.shape();
  shape[0] = std::ranges::max(lengths_of(offsets));
  shape.insert(0, std::ssize(offsets) - 1);
  return shape;
}

}  // namespace

Array array_of(const Tensor& tensor, Access access) {
  if (tensor.dtype() == DType::bfloat16) {
    return array_of(convert(tensor, DType::float32), access);
  }
  auto owner = std::make_unique<Tensor>(tensor.detach());
  std::vector<std::size_t> shape(tensor.shape().begin(), tensor.shape().end());
  const std::vector<std::int64_t> strides(tensor.strides().begin(), tensor.strides().end());
  const void* elements = elements_of(tensor);
  const nb::capsule capsule(owner.release(),
                            [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  if (access == Access::read_only) {
    return {nb::cast(nb::ndarray<nb::numpy, nb::ro>(elements, shape.size(), shape.data(), capsule,
                                                    strides.data(), dlpack_type(tensor.dtype())))};
  }
  return {nb::cast(nb::ndarray<nb::numpy>(const_cast<void*>(elements), shape.size(), shape.data(),
                                          capsule, strides.data(), dlpack_type(tensor.dtype())))};
}

Tensor tensor_of(nb::handle value, std::string_view about, std::optional<DType> dtype) {
  const nb::object array = numpy().attr("asarray")(value);
  const nb::object type = array.attr("dtype");
  const auto kind = nb::cast<std::string>(type.attr("kind"));
  const DType stored = stored_type(kind, nb::cast<Index>(type.attr("itemsize")));
  const DType result = dtype.value_or(stored == DType::bfloat16 ? DType::float32 : stored);
  const bool is_empty = nb::cast<Index>(array.attr("size")) == 0;  // an empty list has no type
  require_value(is_empty || converts(stored, result), about, "expected an array of ",
                !dtype                   ? "numbers"
                : is_floating(*dtype)    ? "numbers"
                : *dtype == DType::int32 ? "integers"
                                         : "bool",
                ", got ", nb::cast<std::string>(nb::str(type)));
  const nb::tuple sizes(array.attr("shape"));
  require_value(static_cast<Index>(nb::len(sizes)) <= kMaxRank, about, "expected at most ",
                kMaxRank, " axes, got ", nb::len(sizes));
  Shape shape;
  for (const nb::handle size : sizes) {
    shape.push_back(nb::cast<Index>(size));
  }
  const std::string_view integers = kind == "u" ? "uint64" : "int64";
  const std::string_view name = result == DType::int32 ? integers : name_of(result);
  const nb::object plain =
      numpy().attr("ascontiguousarray")(array, nb::str(name.data(), name.size()));
  const Buffer buffer(plain);
  return dispatch_any(result, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, std::int32_t>) {
      return kind == "u" ? narrowed<std::uint64_t>(buffer.elements(), shape, about)
                         : narrowed<std::int64_t>(buffer.elements(), shape, about);
    } else {
      return copied<T>(buffer.elements(), shape);
    }
  });
}

Tensor shared_tensor(const nb::object& array, std::string_view about) {
  const nb::object flags = array.attr("flags");
  const auto name = nb::cast<std::string>(array.attr("dtype").attr("name"));
  const bool has_flags = nb::cast<bool>(flags.attr("c_contiguous")) &&
                         nb::cast<bool>(flags.attr("writeable")) &&
                         nb::cast<bool>(flags.attr("aligned"));
  const bool fits = (name == "float32" || name == "float64" || name == "int32" || name == "bool") &&
                    nb::len(nb::tuple(array.attr("shape"))) <= static_cast<std::size_t>(kMaxRank);
  if (!has_flags || !fits || nb::cast<Index>(array.attr("size")) == 0) {
    return tensor_of(array, about);
  }
  Shape shape;
  for (const nb::handle size : nb::tuple(array.attr("shape"))) {
    shape.push_back(nb::cast<Index>(size));
  }
  const auto address =
      nb::cast<std::uintptr_t>(array.attr("__array_interface__")["data"][nb::int_(0)]);
  return Tensor::borrow(reinterpret_cast<void*>(address), shape, parse_name<DType>("dtype", name),
                        shared_object(array));
}

IdArray array_of(const std::vector<std::int32_t>& values) {
  auto owner = std::make_unique<std::vector<std::int32_t>>(values);
  const std::int32_t* data = owner->data();
  const nb::capsule capsule(owner.release(), [](void* held) noexcept {
    delete static_cast<std::vector<std::int32_t>*>(held);
  });
  return IdArray(data, {values.size()}, capsule);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor first = to_contiguous(a);
  const Tensor second = to_contiguous(b);
  const auto bytes = static_cast<std::size_t>(a.numel()) * element_size(a.dtype());
  return bytes == 0 || std::memcmp(elements_of(first), elements_of(second), bytes) == 0;
}

std::vector<Index> lengths_of(const std::vector<Index>& offsets) {
  std::vector<Index> lengths;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    lengths.push_back(offsets[b + 1] - offsets[b]);
  }
  return lengths;
}

Tensor padded_rows(const Tensor& rows, const std::vector<Index>& offsets) {
  const Shape shape = padded_shape(rows, offsets);
  if (shape[0] * shape[1] == rows.size(0)) {
    return reshape(rows, shape);
  }
  std::vector<Tensor> parts;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    Shape rest = rows.shape();
    rest[0] = shape[1] - (offsets[b + 1] - offsets[b]);
    parts.push_back(slice(rows, 0, offsets[b], offsets[b + 1]));
    parts.push_back(Tensor::zeros(rest, rows.dtype()));
  }
  return reshape(concat(parts, 0), shape);
}

Tensor unpadded_rows(const Tensor& padded, const std::vector<Index>& offsets) {
  Shape shape = padded.shape();
  const Index width = shape[1];
  shape.erase(0);
  shape[0] = padded.size(0) * width;
  const Tensor rows = reshape(padded, shape);
  if (shape[0] == offsets.back()) {
    return rows;
  }
  std::vector<Tensor> parts;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const Index first = static_cast<Index>(b) * width;
    parts.push_back(slice(rows, 0, first, first + offsets[b + 1] - offsets[b]));
  }
  return concat(parts, 0);
}

std::shared_ptr<nb::object> shared_object(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            const nb::gil_scoped_acquire lock;
            delete held;
          }};
}

}  // namespace headlight::python
