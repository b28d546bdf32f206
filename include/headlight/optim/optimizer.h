#pragma once

#include <optional>

#include "headlight/tensor/element_range.h"
#include "headlight/tensor/named_tensors.h"

namespace headlight {

// Changes parameters by their gradients. Parameters without a gradient are left alone.
//
// One that is given parts is an optimizer for these elements alone, of which a process among
// several has some: it reads no other gradient and keeps no other moment. Its state has the same
// names, with the elements of the parts one after the other as a tensor [n].
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update. Gradients are first multiplied by gradient_scale: clip_scale() folds clipping in.
  virtual void step(double learning_rate, double gradient_scale = 1.0) = 0;
  // What a checkpoint must keep besides the parameters and the step count, as "KIND.PARAMETER"; the
  // tensors share their elements with the optimizer.
  virtual NamedTensors state() const = 0;

  Index step_count() const { return step_count_; }
  void set_step_count(Index count) { step_count_ = count; }

 protected:
  Index step_count_ = 0;  // updates made so far
};

}  // namespace headlight
