#include "python/analysis/metric.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "python/bindings.h"
#include "python/model/inputs.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

double number_of(const nb::object& value) {
  const nb::object number = nb::steal(PyNumber_Float(value.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    fail_value("metric", "expected a function that returns a number or (number, gradient), got ",
               nb::cast<std::string>(nb::repr(value)));
  }
  return nb::cast<double>(number);
}

// Returns the value of (value, gradient) as the result of an op of `shown` with this gradient.
Tensor with_gradient(const nb::object& pair, const Tensor& shown) {
  const Tensor gradient = tensor_of(pair[1], "metric", shown.dtype());
  require_value(gradient.shape() == shown.shape(), "metric", "expected a gradient of shape ",
                shown.shape(), ", got ", gradient.shape());
  return record_shapes("metric", Tensor::scalar(number_of(pair[0]), shown.dtype()), {shown},
                       [gradient](std::span<const SavedTensor>, const Tensor& output) {
                         return std::vector<Tensor>{gradient * output};
                       });
}

// Calls a function with the logits as a Tensor or as an array.
Tensor call_metric(const nb::object& function, const Tensor& shown, bool as_tensor) {
  const nb::gil_scoped_acquire lock;
  const nb::object result =
      function(as_tensor ? nb::cast(shown) : array_of(to_contiguous(shown)).object);
  if (nb::isinstance<Tensor>(result)) {
    return nb::cast<Tensor>(result);
  }
  if (nb::isinstance<nb::tuple>(result) && nb::len(result) == 2) {
    return with_gradient(result, shown);
  }
  return Tensor::scalar(number_of(result), shown.dtype());
}

// Returns a function as metrics call it.
std::shared_ptr<nb::object> function_of(nb::handle value, const char* expected) {
  require_value(PyCallable_Check(value.ptr()) != 0, "metric", "expected ", expected, ", got ",
                nb::cast<std::string>(nb::repr(value)));
  return shared_object(nb::borrow(value));
}

LogitMetric mean_over_texts(LogitMetric of_text, const std::vector<Index>& offsets) {
  return [=](const Tensor& logits) {
    Tensor sum;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      const Tensor value = of_text(slice(logits, 0, offsets[b], offsets[b + 1]));
      sum = sum.defined() ? sum + value : value;
    }
    return sum / static_cast<double>(offsets.size() - 1);
  };
}

Metric named_metric(LogitMetric of_text, const char* name) {
  return {.of_text = std::move(of_text), .name = name};
}

void add_metric_type(nb::module_& module) {
  nb::class_<Metric>(
      module, "Metric",
      "A number from the logits of a text, with its gradient.\n\n"
      "Parameters\n----------\n"
      "function : from a Tensor [T, V] to a Tensor of one element, by headlight.ops.")
      .def(
          "__init__",
          [](Metric* self, const nb::object& function) {
            new (self) Metric(named_metric(
                [held = function_of(function, "a function")](const Tensor& logits) {
                  return call_metric(*held, logits, true);
                },
                "function"));
          },
          "function"_a,
          nb::sig("def __init__(self, function: collections.abc.Callable[[Tensor], Tensor]) -> "
                  "None"))
      .def("__repr__", [](const Metric& self) { return "<headlight.Metric: " + self.name + ">"; });
}

void add_built_in(nb::module_& module) {
  module.def(
      "logit_difference",
      [](std::int32_t answer, std::int32_t wrong, Index position) {
        return named_metric(logit_difference_metric(answer, wrong, position), "logit difference");
      },
      "answer"_a, "wrong"_a, nb::kw_only(), "position"_a = -1,
      "Returns the metric logit of `answer` minus logit of `wrong`, both token ids, at a position; "
      "-1: the last.");
  module.def(
      "answer_loss",
      [](std::int32_t answer, Index position) {
        return named_metric(loss_metric(answer, position), "loss");
      },
      "answer"_a, nb::kw_only(), "position"_a = -1,
      "Returns the metric -log p(answer) in nats at a position; -1: the last.");
  module.def(
      "answer_probability",
      [](std::int32_t answer, Index position) {
        return named_metric(probability_metric(answer, position), "probability");
      },
      "answer"_a, nb::kw_only(), "position"_a = -1,
      "Returns the metric p(answer) at a position; -1: the last.");
  module.def(
      "kl_divergence",
      [](const Inputs& reference, Index position) {
        return named_metric(divergence_metric(tensor_of(reference.value, "reference"), position),
                            "KL divergence");
      },
      "reference"_a, nb::kw_only(), "position"_a = -1,
      "Returns the metric KL(p_reference || p) in nats of the next-token distributions at a "
      "position; -1: the last. `reference`: logits [T, V].");
}

}  // namespace

LogitMetric read_metric(nb::handle value, const std::optional<std::vector<Index>>& offsets) {
  if (nb::isinstance<Metric>(value)) {
    const LogitMetric& of_text = nb::cast<const Metric&>(value).of_text;
    return offsets ? mean_over_texts(of_text, *offsets) : of_text;
  }
  const auto function = function_of(value, "a function or a Metric");
  return [=](const Tensor& logits) {
    return call_metric(*function, offsets ? padded_rows(logits, *offsets) : logits,
                       offsets.has_value());
  };
}

void add_metrics(nb::module_& module) {
  add_metric_type(module);
  add_built_in(module);
}

}  // namespace headlight::python
