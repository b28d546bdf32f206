#pragma once

#include "headlight/optim/optimizer.h"

namespace headlight {

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  // added to the gradient, on tensors with two or more axes only
};

// Stochastic gradient descent as torch.optim.SGD does it. State with momentum:
// "momentum_buffer.NAME".
class Sgd : public Optimizer {
 public:
  explicit Sgd(NamedTensors parameters, const SgdOptions& options = {});

  void step(double learning_rate, double gradient_scale = 1.0) override;
  NamedTensors state() const override;

 private:
  struct Slot {
    std::string name;
    Tensor parameter;
    Tensor velocity;  // undefined without momentum
  };

  SgdOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace headlight
