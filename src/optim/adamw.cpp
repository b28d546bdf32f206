#include "headlight/optim/adamw.h"

#include <cmath>
#include <tuple>

#include "kernels/loops.h"
#include "optim/array_loop.h"
#include "optim/parameter_parts.h"

namespace headlight {
namespace {

// Updates of elements of type T.
template <class T>
class Updates {
 public:
  void add(const kernels::AdamWArrays<T>& arrays, const kernels::AdamWStep& step, Index n) {
    all_.push_back({arrays, step});
    loop_.add(n);
  }

  void run() const {
    loop_.run([&](std::size_t array, Index, Index begin, Index end) {
      const auto& [arrays, step] = all_[array];
      kernels::loops<T>().adamw({.parameter = arrays.parameter + begin,
                                 .gradient = arrays.gradient + begin,
                                 .mean = arrays.mean + begin,
                                 .variance = arrays.variance + begin},
                                step, end - begin);
    });
  }

 private:
  struct Update {
    kernels::AdamWArrays<T> arrays;
    kernels::AdamWStep step;
  };

  std::vector<Update> all_;
  ArrayLoop loop_;
};

}  // namespace

AdamW::AdamW(NamedTensors parameters, const AdamWOptions& options,
             const std::optional<TensorParts>& parts)
    : options_(options) {
  require(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1,
          "[AdamW] expected beta1 and beta2 from 0 to below 1, got ", options.beta1, " and ",
          options.beta2);
  require(options.epsilon > 0, "[AdamW] expected a positive epsilon, got ", options.epsilon);
  require(options.weight_decay >= 0, "[AdamW] expected a weight_decay of at least 0, got ",
          options.weight_decay);
  for (auto& [name, parameter] : parameters) {
    // step() treats the memory of a parameter as a flat array, without strides.
    require(parameter.defined() && parameter.is_contiguous(), "[AdamW] ", name,
            ": expected a tensor of contiguous elements");
    const std::vector<ElementRange> ranges = ranges_of(parts, name, parameter);
    slots_.push_back({parameter, ranges, zeros_for(ranges, parameter), zeros_for(ranges, parameter),
                      options.rate_of ? options.rate_of(name) : 1});
    state_.emplace_back("exp_avg." + name, slots_.back().mean);
    state_.emplace_back("exp_avg_sq." + name, slots_.back().variance);
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
  std::tuple<Updates<float>, Updates<double>> updates;
  for (Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.grad();
    if (!gradient.defined() || slot.ranges.empty()) {
      continue;
    }
    step.learning_rate = learning_rate * slot.rate;
    step.weight_decay = slot.parameter.rank() >= 2 ? options_.weight_decay : 0;
    dispatch_floating(slot.parameter.dtype(), "AdamW", [&](auto zero) {
      using T = decltype(zero);
      kernels::AdamWArrays<T> arrays{.parameter = nullptr,
                                     .gradient = nullptr,
                                     .mean = slot.mean.mutable_data<T>(),
                                     .variance = slot.variance.mutable_data<T>()};
      for (const ElementRange& range : slot.ranges) {
        arrays.parameter = slot.parameter.mutable_data<T>() + range.begin;
        arrays.gradient = gradient.data<T>() + range.begin;
        std::get<Updates<T>>(updates).add(arrays, step, range.size());
        arrays.mean += range.size();
        arrays.variance += range.size();
      }
    });
  }
  std::apply([](const auto&... each) { (each.run(), ...); }, updates);
}

}  // namespace headlight
