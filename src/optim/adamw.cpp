#include "headlight/optim/adamw.h"

#include <cmath>

#include "kernels/loops.h"
#include "kernels/parallel.h"

namespace headlight {
namespace {

template <class T>
void update(Tensor& parameter, const Tensor& gradient, Tensor& mean, Tensor& variance,
            const kernels::AdamWStep& step) {
  T* values = parameter.mutable_data<T>();
  const T* gradients = gradient.data<T>();
  T* means = mean.mutable_data<T>();
  T* variances = variance.mutable_data<T>();
  kernels::parallel_for(parameter.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
    kernels::loops<T>().adamw({.parameter = values + begin,
                               .gradient = gradients + begin,
                               .mean = means + begin,
                               .variance = variances + begin},
                              step, end - begin);
  });
}

}  // namespace

AdamW::AdamW(NamedTensors parameters, const AdamWOptions& options) : options_(options) {
  require(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1,
          "[AdamW] expected beta1 and beta2 from 0 to below 1, got ", options.beta1, " and ",
          options.beta2);
  require(options.epsilon > 0, "[AdamW] expected a positive epsilon, got ", options.epsilon);
  require(options.weight_decay >= 0, "[AdamW] expected a weight_decay of at least 0, got ",
          options.weight_decay);
  for (auto& [name, parameter] : parameters) {
    // A step walks through the elements as they lie in memory.
    require(parameter.defined() && parameter.is_contiguous(), "[AdamW] ", name,
            ": expected a tensor of contiguous elements");
    slots_.push_back({name, parameter, Tensor::zeros(parameter.shape(), parameter.dtype()),
                      Tensor::zeros(parameter.shape(), parameter.dtype())});
  }
}

void AdamW::step(double learning_rate, double gradient_scale) {
  ++step_count_;
  const auto t = static_cast<double>(step_count_);
  kernels::AdamWStep step{.learning_rate = learning_rate,
                          .beta1 = options_.beta1,
                          .beta2 = options_.beta2,
                          .epsilon = options_.epsilon,
                          .weight_decay = 0,
                          .bias_correction1 = 1.0 - std::pow(options_.beta1, t),
                          .bias_correction2 = 1.0 - std::pow(options_.beta2, t),
                          .gradient_scale = gradient_scale};
  for (Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.grad();
    if (!gradient.defined()) {
      continue;
    }
    step.weight_decay = slot.parameter.rank() >= 2 ? options_.weight_decay : 0;
    dispatch_floating(slot.parameter.dtype(), "AdamW", [&](auto zero) {
      update<decltype(zero)>(slot.parameter, gradient, slot.mean, slot.variance, step);
    });
  }
}

NamedTensors AdamW::state() const {
  NamedTensors result;
  for (const Slot& slot : slots_) {
    result.emplace_back("exp_avg." + slot.name, slot.mean);
    result.emplace_back("exp_avg_sq." + slot.name, slot.variance);
  }
  return result;
}

}  // namespace headlight
