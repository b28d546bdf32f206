#include "headlight/optim/weight_average.h"

#include <algorithm>
#include <utility>

#include "headlight/base/error.h"
#include "kernels/threads/parallel.h"

namespace headlight {

WeightAverage::WeightAverage(NamedTensors parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
  require(decay >= 0 && decay < 1, "[WeightAverage] expected a decay from 0 to below 1, got ",
          decay);
  for (const auto& [name, parameter] : parameters_) {
    require(parameter.is_contiguous(), "[WeightAverage] ", name,
            ": expected a tensor of contiguous elements");
    state_.emplace_back("trained." + name, parameter.detach().clone());
  }
}

void WeightAverage::update(Index steps) {
  const auto n = static_cast<double>(steps);
  const double share = 1 - std::min(decay_, (1 + n) / (10 + n));  // of the weights
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& weights = parameters_[i].second;
    dispatch_floating(weights.dtype(), "WeightAverage", [&](auto zero) {
      using T = decltype(zero);
      const T* from = weights.data<T>();
      T* into = state_[i].second.mutable_data<T>();
      kernels::parallel_for(weights.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
        for (Index element = begin; element < end; ++element) {
          into[element] += static_cast<T>(share) * (from[element] - into[element]);
        }
      });
    });
  }
}

void WeightAverage::exchange() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor weights = parameters_[i].second.detach();
    dispatch_floating(weights.dtype(), "WeightAverage", [&](auto zero) {
      using T = decltype(zero);
      T* values = weights.mutable_data<T>();
      std::swap_ranges(values, values + weights.numel(), state_[i].second.mutable_data<T>());
    });
  }
}

}  // namespace headlight
