#include "headlight/optim/sgd.h"

#include "kernels/threads/parallel.h"
#include "optim/parameter_parts.h"

namespace headlight {

Sgd::Sgd(NamedTensors parameters, const SgdOptions& options,
         const std::optional<TensorParts>& parts)
    : options_(options) {
  require(options.momentum >= 0 && options.momentum < 1,
          "[Sgd] expected a momentum from 0 to below 1, got ", options.momentum);
  require(options.weight_decay >= 0, "[Sgd] expected a weight_decay of at least 0, got ",
          options.weight_decay);
  require(!options.nesterov || options.momentum > 0, "[Sgd] nesterov needs a momentum");
  for (auto& [name, parameter] : parameters) {
    // step() treats the memory of a parameter as a flat array, without strides.
    require(parameter.defined() && parameter.is_contiguous(), "[Sgd] ", name,
            ": expected a tensor of contiguous elements");
    const std::vector<ElementRange> ranges = ranges_of(parts, name, parameter);
    slots_.push_back({parameter, ranges, {}});
    if (options.momentum > 0) {
      slots_.back().velocity = zeros_for(ranges, parameter);
      state_.emplace_back("momentum_buffer." + name, slots_.back().velocity);
    }
  }
}

template <class T>
void Sgd::update(Slot& slot, double learning_rate, double gradient_scale) const {
  const Tensor gradient = slot.parameter.grad();
  T* velocity = slot.velocity.defined() ? slot.velocity.mutable_data<T>() : nullptr;
  const T decay = static_cast<T>(slot.parameter.rank() >= 2 ? options_.weight_decay : 0);
  const T momentum = static_cast<T>(options_.momentum);
  for (const ElementRange& range : slot.ranges) {
    T* values = slot.parameter.mutable_data<T>() + range.begin;
    const T* gradients = gradient.data<T>() + range.begin;
    kernels::parallel_for(range.size(), kernels::kElementGrain, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const T g = gradients[i] * static_cast<T>(gradient_scale) + decay * values[i];
        T change = g;
        if (velocity != nullptr) {
          velocity[i] = momentum * velocity[i] + g;
          change = options_.nesterov ? g + momentum * velocity[i] : velocity[i];
        }
        values[i] -= static_cast<T>(learning_rate) * change;
      }
    });
    velocity = velocity == nullptr ? nullptr : velocity + range.size();
  }
}

void Sgd::step(double learning_rate, double gradient_scale) {
  ++step_count_;
  for (Slot& slot : slots_) {
    if (slot.parameter.grad().defined() && !slot.ranges.empty()) {
      dispatch_floating(slot.parameter.dtype(), "Sgd", [&](auto zero) {
        update<decltype(zero)>(slot, learning_rate, gradient_scale);
      });
    }
  }
}

}  // namespace headlight
