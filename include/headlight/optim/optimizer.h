#pragma once

#include "headlight/tensor/named_tensors.h"

namespace headlight {

// Changes parameters by their gradients. Parameters without a gradient are left alone.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update. Gradients are first multiplied by gradient_scale: clip_scale() folds clipping in.
  virtual void step(double learning_rate, double gradient_scale = 1.0) = 0;
  // What a checkpoint must keep besides the parameters and the step count, by name; the tensors
  // share their elements with the optimizer.
  virtual NamedTensors state() const = 0;

  Index step_count() const { return step_count_; }
  void set_step_count(Index count) { step_count_ = count; }

 protected:
  Index step_count_ = 0;  // updates made so far
};

}  // namespace headlight
