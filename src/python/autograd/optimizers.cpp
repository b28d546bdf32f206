#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "headlight/optim/adamw.h"
#include "headlight/optim/clip.h"
#include "headlight/optim/muon.h"
#include "headlight/optim/schedule.h"
#include "headlight/optim/sgd.h"
#include "python/bindings.h"
#include "python/model/inputs.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

NamedTensors named_tensors(const nb::dict& parameters) {
  NamedTensors tensors;
  for (const auto& [name, tensor] : parameters) {
    require_value(nb::isinstance<Tensor>(tensor), "parameters", "expected tensors by name");
    tensors.emplace_back(nb::cast<std::string>(name), nb::cast<Tensor>(tensor));
  }
  return tensors;
}

constexpr const char* kParameters = "parameters: dict[str, headlight._headlight.Tensor]";

void add_adamw(nb::module_& optim) {
  nb::class_<AdamW, Optimizer>(optim, "AdamW", "Loshchilov and Hutter, arXiv 1711.05101.")
      .def(
          "__init__",
          [](AdamW* self, const nb::dict& parameters, double beta1, double beta2, double epsilon,
             double weight_decay) {
            new (self) AdamW(
                named_tensors(parameters),
                {.beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .weight_decay = weight_decay});
          },
          "parameters"_a, nb::kw_only(), "beta1"_a = 0.9, "beta2"_a = 0.95, "epsilon"_a = 1e-8,
          "weight_decay"_a = 0.1,
          nb::sig((std::string("def __init__(self, ") + kParameters +
                   ", *, beta1: float = 0.9, beta2: float = 0.95, epsilon: float = 1e-08, "
                   "weight_decay: float = 0.1) -> None")
                      .c_str()));
}

void add_sgd(nb::module_& optim) {
  nb::class_<Sgd, Optimizer>(optim, "SGD", "Stochastic gradient descent, as in torch.optim.SGD.")
      .def(
          "__init__",
          [](Sgd* self, const nb::dict& parameters, double momentum, bool nesterov,
             double weight_decay) {
            new (self)
                Sgd(named_tensors(parameters),
                    {.momentum = momentum, .nesterov = nesterov, .weight_decay = weight_decay});
          },
          "parameters"_a, nb::kw_only(), "momentum"_a = 0.0, "nesterov"_a = false,
          "weight_decay"_a = 0.0,
          nb::sig((std::string("def __init__(self, ") + kParameters +
                   ", *, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = "
                   "0.0) -> None")
                      .c_str()));
}

void add_muon(nb::module_& optim) {
  nb::class_<Muon, Optimizer>(optim, "Muon", "Orthogonalised momentum for hidden matrices.")
      .def(
          "__init__",
          [](Muon* self, const nb::dict& parameters, double momentum, double weight_decay) {
            std::vector<MuonMatrix> matrices;
            for (const auto& [name, tensor] : named_tensors(parameters)) {
              matrices.push_back({.name = name, .parameter = tensor});
            }
            new (self)
                Muon(std::move(matrices), {.momentum = momentum, .weight_decay = weight_decay});
          },
          "parameters"_a, nb::kw_only(), "momentum"_a = 0.95, "weight_decay"_a = 0.1,
          nb::sig((std::string("def __init__(self, ") + kParameters +
                   ", *, momentum: float = 0.95, weight_decay: float = 0.1) -> None")
                      .c_str()));
}

}  // namespace

void add_optimizers(nb::module_& module) {
  nb::module_ optim = module.def_submodule("optim", "Optimizers and learning rates.");
  nb::class_<Optimizer>(optim, "Optimizer", "Changes parameters by their gradients.")
      .def("step", &Optimizer::step, "learning_rate"_a, nb::kw_only(), "gradient_scale"_a = 1.0,
           nb::call_guard<nb::gil_scoped_release>(),
           "Makes one step; multiplies gradients by gradient_scale first.")
      .def_prop_ro("step_count", &Optimizer::step_count, "Number of steps so far.");
  add_adamw(optim);
  add_sgd(optim);
  add_muon(optim);
  optim.def(
      "gradient_norm",
      [](const nb::dict& parameters) { return gradient_norm(named_tensors(parameters)); },
      "parameters"_a,
      nb::sig("def gradient_norm(parameters: dict[str, headlight._headlight.Tensor]) -> float"),
      "Returns the Euclidean norm of all gradients together.");
  optim.def("clip_scale", &clip_scale, "norm"_a, "max_norm"_a,
            "Returns the gradient_scale that limits gradients of this norm to max_norm.");
  nb::class_<LearningRateSchedule>(optim, "Schedule", "Learning rates: warm-up, then decay.")
      .def(
          "__init__",
          [](LearningRateSchedule* self, const std::string& kind, double learning_rate,
             double min_learning_rate, Index warmup_steps, Index decay_steps) {
            new (self) LearningRateSchedule{.kind = parse_name<ScheduleKind>("kind", kind),
                                            .learning_rate = learning_rate,
                                            .min_learning_rate = min_learning_rate,
                                            .warmup_steps = warmup_steps,
                                            .decay_steps = decay_steps};
          },
          "kind"_a, nb::kw_only(), "learning_rate"_a, "min_learning_rate"_a = 0.0,
          "warmup_steps"_a = 0, "decay_steps"_a = 0)
      .def("__call__", &LearningRateSchedule::at, "step"_a,
           "Returns the learning rate of a step, from 0.");
}

}  // namespace headlight::python
