#pragma once

#include <utility>

#include "headlight/base/error.h"
#include "headlight/optim/optimizer.h"

namespace headlight {

// A copy of an optimizer's moments and step count. It cannot make steps.
class OptimizerState : public Optimizer {
 public:
  explicit OptimizerState(NamedTensors state) { state_ = std::move(state); }

  void step(double, double) override { fail("[OptimizerState] a copy makes no updates"); }
};

}  // namespace headlight
