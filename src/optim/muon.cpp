#include "headlight/optim/muon.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/threads/parallel.h"
#include "optim/parameter_parts.h"

namespace headlight {
namespace {

double adjustment(LearningRateAdjustment kind, const Shape& matrix) {
  const auto outputs = static_cast<double>(matrix[0]);
  const auto inputs = static_cast<double>(matrix[1]);
  return kind == LearningRateAdjustment::original ? std::sqrt(std::max(1.0, outputs / inputs))
                                                  : 0.2 * std::sqrt(std::max(outputs, inputs));
}

// Updates the momentum of `change`'s elements as torch.optim.Muon does: as a running mean, not a
// sum. Writes the elements of the step to `change`.
template <class T>
void update_momentum(const T* gradient, T scale, const MuonOptions& options, T* velocity,
                     Tensor& change) {
  const T momentum = static_cast<T>(options.momentum);
  T* to = change.data<T>();
  kernels::parallel_for(change.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const T g = scale * gradient[i];
      velocity[i] += (1 - momentum) * (g - velocity[i]);
      to[i] = options.nesterov ? g + momentum * (velocity[i] - g) : velocity[i];
    }
  });
}

// Computes values = kept * values - rate * direction for n elements.
template <class T>
void move(T* values, T kept, T rate, const Tensor& direction) {
  const T* along = direction.data<T>();
  kernels::parallel_for(direction.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      values[i] = kept * values[i] - rate * along[i];
    }
  });
}

}  // namespace

Muon::Muon(std::vector<MuonMatrix> matrices, const MuonOptions& options,
           const std::optional<TensorParts>& parts)
    : options_(options) {
  require(options.momentum >= 0 && options.momentum < 1,
          "[Muon] expected a momentum from 0 to below 1, got ", options.momentum);
  require(options.weight_decay >= 0, "[Muon] expected a weight_decay of at least 0, got ",
          options.weight_decay);
  require(options.newton_schulz.steps >= 0 && options.newton_schulz.steps < 100,
          "[Muon] expected 0 to 99 steps of Newton-Schulz, got ", options.newton_schulz.steps);
  for (MuonMatrix& matrix : matrices) {
    const Tensor& parameter = matrix.parameter;
    // A step reads the elements in memory order.
    require(parameter.defined() && parameter.rank() == 2 && parameter.is_contiguous(), "[Muon] ",
            matrix.name, ": expected a matrix of contiguous elements");
    if (matrix.blocks.empty()) {
      matrix.blocks = {parameter.size(0)};
    }
    const Index rows = std::accumulate(matrix.blocks.begin(), matrix.blocks.end(), Index{0});
    const bool positive = std::all_of(matrix.blocks.begin(), matrix.blocks.end(),
                                      [](Index block) { return block > 0; });
    require(positive && rows == parameter.size(0), "[Muon] ", matrix.name,
            ": expected blocks of its ", parameter.size(0), " rows, got ", rows);
    Tensor velocity = zeros_for(ranges_of(parts, matrix.name, parameter), parameter);
    require(velocity.numel() == 0 || velocity.shape() == parameter.shape(), "[Muon] ", matrix.name,
            ": a part of a matrix cannot be made orthogonal");
    state_.emplace_back("momentum_buffer." + matrix.name, velocity);
    slots_.push_back({std::move(matrix), std::move(velocity)});
  }
}

template <class T>
void Muon::update(Slot& slot, double learning_rate, double gradient_scale) const {
  Tensor& parameter = slot.matrix.parameter;
  const Tensor gradient = parameter.grad();
  T* values = parameter.mutable_data<T>();
  T* velocity = slot.velocity.mutable_data<T>();
  const T scale = static_cast<T>(gradient_scale);
  const T kept = static_cast<T>(1 - learning_rate * options_.weight_decay);
  Index begin = 0;
  for (const Index rows : slot.matrix.blocks) {
    const Shape block{rows, parameter.size(1)};
    const T rate = static_cast<T>(learning_rate * adjustment(options_.adjust_lr_fn, block));
    Tensor change = Tensor::empty(block, parameter.dtype());
    update_momentum(gradient.data<T>() + begin, scale, options_, velocity + begin, change);
    move(values + begin, kept, rate, orthogonalize(change, options_.newton_schulz));
    begin += change.numel();
  }
}

void Muon::step(double learning_rate, double gradient_scale) {
  ++step_count_;
  for (Slot& slot : slots_) {
    if (slot.matrix.parameter.grad().defined() && slot.velocity.numel() > 0) {
      dispatch_floating(slot.matrix.parameter.dtype(), "Muon", [&](auto zero) {
        update<decltype(zero)>(slot, learning_rate, gradient_scale);
      });
    }
  }
}

}  // namespace headlight
