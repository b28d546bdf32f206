#include "headlight/tensor/tensor.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "headlight/tensor/strided.h"
#include "tensor/tensor_bytes.h"

namespace headlight {
namespace {

std::atomic<std::size_t> all_tensor_bytes{0};

template <class To, class From>
To convert_value(From value) {
  if constexpr (std::is_same_v<From, BFloat16>) {
    return convert_value<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else {
    return static_cast<To>(value);
  }
}

template <class To, class From>
void copy_rows(To* to, const From* from, const StridedRows<2>& rows) {
  for (Index row = 0; row < rows.count; ++row) {
    const auto [to_start, from_start] = rows.start(row);
    for (Index i = 0; i < rows.length; ++i) {
      to[to_start + i * rows.step[0]] = convert_value<To>(from[from_start + i * rows.step[1]]);
    }
  }
}

void copy_elements(Tensor& to, const Tensor& from) {
  if (to.numel() == 0) {
    return;
  }
  const StridedRows<2> rows(to.shape(), {to.strides(), from.strides()});
  dispatch_any(to.dtype(), [&](auto to_value) {
    dispatch_any(from.dtype(), [&](auto from_value) {
      using To = decltype(to_value);
      using From = decltype(from_value);
      copy_rows(to.data<To>(), from.data<From>(), rows);
    });
  });
}

// Returns whether all elements of a view are within `capacity` elements, even if sums overflow.
bool stays_inside(const Shape& shape, const Shape& strides, Index begin, Index offset,
                  Index capacity) {
  Index lowest = 0;
  Index highest = 0;
  bool overflows = __builtin_add_overflow(begin, offset, &lowest);
  highest = lowest;
  for (Index axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 0) {
      return true;
    }
    Index reach = 0;
    overflows = overflows || __builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach);
    Index& end = reach < 0 ? lowest : highest;
    overflows = overflows || __builtin_add_overflow(end, reach, &end);
  }
  return !overflows && lowest >= 0 && highest < capacity;
}

std::size_t element_bytes(const Tensor& x) {
  Index bytes = 0;
  require(!__builtin_mul_overflow(x.numel(), static_cast<Index>(element_size(x.dtype())), &bytes),
          "[Tensor] too many elements: ", x.shape());
  return static_cast<std::size_t>(bytes);
}

void fill_elements(Tensor& to, double value) {
  Tensor single = Tensor::empty({}, DType::float64);
  *single.data<double>() = value;
  copy_elements(to, single.strided_view(to.shape(), Shape::filled(to.rank(), 0)));
}

}  // namespace

Tensor::Tensor(const Shape& shape, DType dtype)
    : shape_(shape), numel_(headlight::numel(shape)), dtype_(dtype) {
  strides_ = contiguous_strides(shape);
}

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  Tensor result(shape, dtype);
  const std::size_t bytes = element_bytes(result);
  result.storage_ = std::make_shared<Storage>(bytes);
  all_tensor_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return result;
}

std::size_t tensor_bytes_so_far() { return all_tensor_bytes; }

Tensor Tensor::borrow(void* elements, const Shape& shape, DType dtype,
                      std::shared_ptr<void> owner) {
  Tensor result(shape, dtype);
  const auto count = static_cast<std::size_t>(result.numel_);
  result.storage_ =
      std::make_shared<Storage>(elements, count * element_size(dtype), std::move(owner));
  return result;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  Tensor result = empty(shape, dtype);
  // No bit of a zero is set, in any type.
  std::memset(result.storage_->data(), 0,
              static_cast<std::size_t>(result.numel_) * element_size(dtype));
  return result;
}

Tensor Tensor::ones(const Shape& shape, DType dtype) { return full(shape, 1.0, dtype); }

Tensor Tensor::full(const Shape& shape, double value, DType dtype) {
  Tensor result = empty(shape, dtype);
  fill_elements(result, value);
  return result;
}

Tensor Tensor::scalar(double value, DType dtype) { return full({}, value, dtype); }

Tensor Tensor::eye(Index size, DType dtype) {
  Tensor result = zeros({size, size}, dtype);
  result.strided_view({size}, {size + 1}).fill(1);
  return result;
}

Tensor Tensor::arange(Index count, DType dtype) {
  Tensor result = empty({count}, dtype);
  dispatch_any(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* values = result.data<T>();
    for (Index i = 0; i < count; ++i) {
      values[i] = convert_value<T>(i);
    }
  });
  return result;
}

Index Tensor::size(Index axis) const { return shape_[normalize_axis(axis, rank(), "size")]; }

bool Tensor::is_contiguous() const {
  if (numel_ == 0) {
    return true;
  }
  Index expected = 1;
  for (Index axis = rank() - 1; axis >= 0; --axis) {
    if (shape_[axis] != 1 && strides_[axis] != expected) {
      return false;
    }
    expected *= shape_[axis];
  }
  return true;
}

void* Tensor::raw_data(DType expected) const {
  require(defined(), "[data] the tensor is undefined");
  require(expected == dtype_, "[data] the tensor has type ", dtype_, ", expected ", expected);
  require(storage_->data() != nullptr, "[data] the elements of the tensor ", shape_,
          " were released");
  return static_cast<std::byte*>(storage_->data()) +
         static_cast<std::size_t>(offset_) * element_size(dtype_);
}

Tensor Tensor::without_elements(const Shape& shape, DType dtype) {
  Tensor result(shape, dtype);
  result.storage_ = std::make_shared<Storage>(nullptr, element_bytes(result), nullptr);
  return result;
}

void Tensor::release_elements() {
  require(defined(), "[release_elements] the tensor is undefined");
  storage_->release();
}

double Tensor::item() const {
  require(numel_ == 1, "[item] expected one element, got shape ", shape_);
  return to_vector().front();
}

std::vector<double> Tensor::to_vector() const {
  const Tensor values = to_contiguous(convert(*this, DType::float64));
  const double* data = values.data<double>();
  return {data, data + values.numel()};
}

Tensor Tensor::clone() const {
  Tensor result = empty(shape_, dtype_);
  copy_elements(result, *this);
  return result;
}

void Tensor::copy_from(const Tensor& source) {
  require(defined() && source.defined(), "[copy_from] a tensor is undefined");
  require(shape_ == source.shape_, "[copy_from] expected shape ", shape_, ", got ", source.shape_);
  copy_elements(*this, source);
  storage_->raise_version();
}

void Tensor::fill(double value) {
  require(defined(), "[fill] the tensor is undefined");
  fill_elements(*this, value);
  storage_->raise_version();
}

Tensor Tensor::strided_view(const Shape& shape, const Shape& strides, Index offset) const {
  require(defined(), "[strided_view] the tensor is undefined");
  require(shape.rank() == strides.rank(), "[strided_view] expected a stride for each of the axes ",
          shape, ", got ", strides);
  const auto capacity = static_cast<Index>(storage_->bytes() / element_size(dtype_));
  require(stays_inside(shape, strides, offset_, offset, capacity), "[strided_view] shape ", shape,
          " with strides ", strides, " from element ", offset, " leaves the storage of ", capacity,
          " elements");
  Tensor view = *this;
  view.node_ = nullptr;
  view.shape_ = shape;
  view.strides_ = strides;
  view.offset_ = offset_ + offset;
  view.numel_ = headlight::numel(shape);
  return view;
}

Tensor convert(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) {
    return x;
  }
  Tensor result = Tensor::empty(x.shape(), dtype);
  copy_elements(result, x);
  return result;
}

Tensor to_contiguous(const Tensor& x) { return x.is_contiguous() ? x : x.clone(); }

}  // namespace headlight
