#pragma once

#include "headlight/nn/module.h"

namespace headlight {

struct LinearOptions {
  Index inputs = 0;
  Index outputs = 0;
  bool bias = true;
  DType dtype = DType::float32;
  bool zeros = false;  // start from zeros, to be overwritten
};

class Linear;

// Multiplies with weight matrices that are stored in another form.
class WeightProducts {
 public:
  virtual ~WeightProducts() = default;
  // Returns linear.forward(x) up to rounding; x is [N, inputs].
  virtual Tensor multiply(const Linear& linear, const Tensor& x) const = 0;
};

// Maps x [..., inputs] to [..., outputs]. Parameters: weight [outputs, inputs], bias [outputs].
class Linear : public Module {
 public:
  explicit Linear(const LinearOptions& options, const RandomStream& random = {});
  Tensor forward(const Tensor& x, const ForwardContext& context = {}) const;

  Tensor weight;
  Tensor bias;  // undefined if bias is false
};

}  // namespace headlight
