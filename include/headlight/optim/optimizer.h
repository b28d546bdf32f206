#pragma once

#include "headlight/tensor/element_range.h"
#include "headlight/tensor/named_tensors.h"

namespace headlight {

// Changes parameters by their gradients. Skips parameters without a gradient.
//
// With parts, an optimizer updates only these elements: one process's share among several. It reads
// no other gradients and keeps no other moments. Its state has the same names; each tensor [n]
// holds the elements of the parts in order.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Makes one step. Multiplies gradients by gradient_scale first, for example by clip_scale().
  virtual void step(double learning_rate, double gradient_scale = 1.0) = 0;
  // Returns the moments for checkpoints, named "KIND.PARAMETER". The tensors share memory with the
  // optimizer.
  NamedTensors state() const { return state_; }

  Index step_count() const { return step_count_; }
  void set_step_count(Index count) { step_count_ = count; }

 protected:
  Index step_count_ = 0;  // steps made so far
  NamedTensors state_;
};

}  // namespace headlight
