#pragma once

#include <functional>
#include <optional>
#include <string>

#include "headlight/optim/optimizer.h"

namespace headlight {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // decoupled, on tensors with two or more axes only
  // Factor of the learning rate for a parameter of this name; null: 1.
  std::function<double(const std::string& name)> rate_of = {};
};

// Loshchilov and Hutter, arXiv 1711.05101. State: "exp_avg.NAME" and "exp_avg_sq.NAME".
class AdamW : public Optimizer {
 public:
  // `parts`: see Optimizer.
  explicit AdamW(NamedTensors parameters, const AdamWOptions& options = {},
                 const std::optional<TensorParts>& parts = {});

  void step(double learning_rate, double gradient_scale = 1.0) override;

 private:
  struct Slot {
    Tensor parameter;
    std::vector<ElementRange> ranges;
    Tensor mean;      // of the gradient, for the ranges
    Tensor variance;  // of the gradient, uncentred
    double rate = 1;  // factor of the learning rate
  };

  AdamWOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace headlight
