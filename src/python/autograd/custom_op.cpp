#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "python/autograd/operand.h"
#include "python/bindings.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Returns the gradients that a Python function computes: one for each input, None for none.
std::vector<Tensor> gradients_of(const nb::object& function, std::span<const SavedTensor> inputs,
                                 const Tensor& output_grad) {
  const nb::gil_scoped_acquire lock;
  nb::object returned = function(output_grad);
  const bool is_list = nb::isinstance<nb::tuple>(returned) || nb::isinstance<nb::list>(returned);
  const nb::tuple given = is_list ? nb::tuple(returned) : nb::make_tuple(returned);
  require_value(nb::len(given) == inputs.size(), "gradient", "expected ", inputs.size(),
                " gradients from the function, got ", nb::len(given));
  std::vector<Tensor> gradients(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const nb::object gradient = given[i];
    if (!gradient.is_none()) {
      gradients[i] = nb::isinstance<Tensor>(gradient)
                         ? nb::cast<Tensor>(gradient)
                         : tensor_of(gradient, "gradient", inputs[i].dtype());
    }
  }
  return gradients;
}

Tensor custom(const nb::object& function, const nb::args& arguments) {
  std::vector<Tensor> inputs;
  nb::list shown;
  for (const nb::handle argument : arguments) {
    inputs.push_back(Operand{nb::borrow(argument)}.tensor());
    shown.append(inputs.back().detach());
  }
  const nb::object returned = function(*nb::tuple(shown));
  require_value(nb::isinstance<nb::tuple>(returned) && nb::len(returned) == 2, "function",
                "expected (value, gradient function), got ",
                nb::cast<std::string>(nb::repr(returned)));
  const Tensor value = Operand{returned[0]}.tensor().detach();
  return record_shapes("custom", value, std::move(inputs),
                       [gradient = shared_object(returned[1])](std::span<const SavedTensor> of,
                                                               const Tensor& output_grad) {
                         return gradients_of(*gradient, of, output_grad);
                       });
}

}  // namespace

void add_custom_op(nb::module_& ops) {
  ops.def("custom", &custom, "function"_a, "inputs"_a,
          nb::sig("def custom(function: collections.abc.Callable[..., "
                  "tuple[headlight._headlight.Tensor | headlight.types.ArrayLike, "
                  "collections.abc.Callable[[headlight._headlight.Tensor], typing.Any]]], *inputs: "
                  "headlight._headlight.Tensor | headlight.types.ArrayLike) -> "
                  "headlight._headlight.Tensor"),
          "Returns the value of your own function, with its gradient.\n\n"
          "Parameters\n----------\n"
          "function : gets the inputs as tensors without history, and must not change them. "
          "Returns the value and a function of the value's gradient, which returns a gradient of "
          "the shape of each input: one, or a list; None where there is none. Values and "
          "gradients are tensors or arrays, also PyTorch's.\n\n"
          "Raises\n------\n"
          "ValueError : for another number of gradients, and from backward() for other shapes.");
}

}  // namespace headlight::python
