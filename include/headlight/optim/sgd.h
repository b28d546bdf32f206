#pragma once

#include <optional>

#include "headlight/optim/optimizer.h"

namespace headlight {

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  // added to the gradient, on tensors with two or more axes only
};

// Stochastic gradient descent as in torch.optim.SGD. State with momentum: "momentum_buffer.NAME".
class Sgd : public Optimizer {
 public:
  // `parts`: see Optimizer.
  explicit Sgd(NamedTensors parameters, const SgdOptions& options = {},
               const std::optional<TensorParts>& parts = {});

  void step(double learning_rate, double gradient_scale = 1.0) override;

 private:
  struct Slot {
    Tensor parameter;
    std::vector<ElementRange> ranges;
    Tensor velocity;  // for the ranges; undefined without momentum
  };
  template <class T>
  void update(Slot& slot, double learning_rate, double gradient_scale) const;

  SgdOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace headlight
