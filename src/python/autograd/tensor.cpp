#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "python/autograd/operand.h"
#include "python/bindings.h"
#include "python/model/inputs.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

Tensor new_tensor(const Inputs& values, const std::optional<std::string>& dtype,
                  bool requires_grad) {
  Tensor tensor = Operand{values.value}.tensor();
  if (dtype) {
    tensor = convert(tensor, parse_name<DType>("dtype", *dtype));
  }
  return requires_grad ? tensor.set_requires_grad() : tensor;
}

std::optional<Tensor> gradient_of(const Tensor& tensor) {
  const Tensor gradient = tensor.grad();
  return gradient.defined() ? std::optional(gradient) : std::nullopt;
}

void run_backward(const Tensor& root, const std::optional<Operand>& gradient, bool retain_graph) {
  BackwardOptions options{.retain_graph = retain_graph};
  if (gradient) {
    options.gradient = gradient->tensor(root);
  }
  const nb::gil_scoped_release released;
  backward(root, options);
}

void assign(Tensor& tensor, const Operand& values) {
  const Tensor source = values.tensor(tensor);
  require_value(source.shape() == tensor.shape(), "values", "expected shape ", tensor.shape(),
                ", got ", source.shape());
  tensor.copy_from(source);
}

Tensor indexed(const Tensor& tensor, nb::handle index, Index axis) {
  if (nb::isinstance<nb::slice>(index)) {
    Py_ssize_t start = 0;
    Py_ssize_t stop = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(index.ptr(), &start, &stop, &step) != 0) {
      throw nb::python_error();
    }
    PySlice_AdjustIndices(tensor.size(axis), &start, &stop, step);
    return slice(tensor, axis, start, std::max(start, stop), step);
  }
  return select(tensor, axis, read_value<Index>(index, "index", "whole numbers and slices"));
}

Tensor item_at(const Tensor& tensor, const nb::object& index) {
  const nb::tuple parts =
      nb::isinstance<nb::tuple>(index) ? nb::tuple(index) : nb::make_tuple(index);
  Tensor result = tensor;
  Index axis = 0;
  for (const nb::handle part : parts) {
    require_value(axis < result.rank(), "index", "expected at most ", tensor.rank(),
                  " indices, got ", nb::len(parts));
    result = indexed(result, part, axis);
    axis += nb::isinstance<nb::slice>(part) ? 1 : 0;
  }
  return result;
}

using Binary = Tensor (*)(const Tensor&, const Tensor&);

template <Binary kOp>
Tensor left(const Tensor& a, const Operand& b) {
  return kOp(a, b.tensor(a));
}
template <Binary kOp>
Tensor right(const Tensor& b, const Operand& a) {
  return kOp(a.tensor(b), b);
}

void add_arithmetic(nb::class_<Tensor>& tensor) {
  tensor.def("__add__", &left<add>, nb::is_operator())
      .def("__radd__", &right<add>, nb::is_operator())
      .def("__sub__", &left<sub>, nb::is_operator())
      .def("__rsub__", &right<sub>, nb::is_operator())
      .def("__mul__", &left<mul>, nb::is_operator())
      .def("__rmul__", &right<mul>, nb::is_operator())
      .def("__truediv__", &left<div>, nb::is_operator())
      .def("__rtruediv__", &right<div>, nb::is_operator())
      .def("__matmul__", &left<matmul>, nb::is_operator())
      .def("__rmatmul__", &right<matmul>, nb::is_operator())
      .def("__neg__", [](const Tensor& x) { return neg(x); })
      .def("__pow__", [](const Tensor& x, double exponent) { return pow(x, exponent); })
      .def("__getitem__", &item_at, "index"_a,
           nb::sig("def __getitem__(self, index: int | slice | tuple[int | slice, ...], /) -> "
                   "Tensor"));
}

void add_gradients(nb::class_<Tensor>& tensor) {
  tensor
      .def_prop_rw(
          "requires_grad", &Tensor::requires_grad,
          [](Tensor& self, bool value) { self.set_requires_grad(value); },
          "Whether the tensor collects gradients.")
      .def_prop_ro("grad", &gradient_of, "Sum of the gradients so far; None: there is none.")
      .def("backward", &run_backward, "gradient"_a = nb::none(), nb::kw_only(),
           "retain_graph"_a = false,
           "Adds the gradient of this tensor to every leaf that it depends on.\n\n"
           "Parameters\n----------\n"
           "gradient : gradient of this tensor; None: 1, for a single element.\n"
           "retain_graph : keep the graph for another call.")
      .def("zero_grad", &Tensor::zero_grad, "Drops the gradient of a leaf.")
      .def("detach", &Tensor::detach, "Returns the same elements without history.");
}

void add_conversions(nb::class_<Tensor>& tensor) {
  tensor
      .def(
          "numpy", [](const Tensor& self) { return array_of(self); },
          "Returns a read-only view without a copy.")
      .def("assign", &assign, "values"_a, "Overwrites the elements.")
      .def("item", &Tensor::item, "Returns the only element.")
      .def("__float__", &Tensor::item)
      .def(
          "__array__",
          [](const Tensor& self, const nb::object& dtype, const nb::object&) -> nb::object {
            const nb::object array = array_of(self).object;
            return dtype.is_none() ? array : array.attr("astype")(dtype);
          },
          "dtype"_a = nb::none(), "copy"_a = nb::none(),
          nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                  "headlight.types.Array"))
      .def(
          "__dlpack__",
          [](const Tensor& self, const nb::kwargs& options) {
            return array_of(self, Access::writable).object.attr("__dlpack__")(**options);
          },
          nb::sig("def __dlpack__(self, **options: typing.Any) -> typing.Any"),
          "Shares the elements by DLPack.")
      .def(
          "__dlpack_device__",
          [](const Tensor&) { return nb::make_tuple(1, 0); },  // memory of the CPU
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def_static(
          "from_dlpack",
          [](const nb::object& source) {
            const nb::object array = nb::module_::import_("numpy").attr("from_dlpack")(source);
            return shared_tensor(array, "source");
          },
          "source"_a, nb::sig("def from_dlpack(source: typing.Any) -> Tensor"),
          "Returns a tensor on the elements of an array of another library. Arrays that are "
          "read-only or not contiguous, and those of other types than float32, float64, int32 and "
          "bool, are copied.");
}

}  // namespace

Tensor Operand::tensor(const Tensor& beside) const {
  if (nb::isinstance<Tensor>(value)) {
    return nb::cast<Tensor>(value);
  }
  const bool is_number = nb::isinstance<nb::float_>(value) || nb::isinstance<nb::int_>(value);
  if (is_number && beside.defined()) {
    return Tensor::scalar(nb::cast<double>(nb::float_(value)), beside.dtype());
  }
  const Tensor result = tensor_of(value, "tensor");
  const bool has_type = nb::hasattr(value, "dtype");
  return !has_type && result.dtype() == DType::float64 ? convert(result, DType::float32) : result;
}

void add_tensor(nb::module_& module) {
  nb::class_<Tensor> tensor(module, "Tensor",
                            "Array of the autograd engine: float32, float64, int32 or bool.");
  tensor
      .def(nb::new_(&new_tensor), "values"_a, nb::kw_only(), "dtype"_a = nb::none(),
           "requires_grad"_a = false)
      .def_prop_ro(
          "shape",
          [](const Tensor& self) {
            return nb::tuple(
                nb::cast(std::vector<Index>(self.shape().begin(), self.shape().end())));
          },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Sizes of the axes.")
      .def_prop_ro(
          "dtype", [](const Tensor& self) { return name_of(self.dtype()); },
          "Element type, such as \"float32\".")
      .def_prop_ro("ndim", &Tensor::rank, "Number of axes.")
      .def("__len__", [](const Tensor& self) { return self.size(0); })
      .def("__repr__", [](const Tensor& self) {
        return concat_text("<headlight.Tensor ", name_of(self.dtype()), " ", self.shape(), ">");
      });
  tensor.attr("__array_ufunc__") = nb::none();  // array * tensor is a tensor with its gradient
  add_arithmetic(tensor);
  add_gradients(tensor);
  add_conversions(tensor);
}

}  // namespace headlight::python
