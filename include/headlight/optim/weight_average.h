#pragma once

#include "headlight/tensor/named_tensors.h"

namespace headlight {

// Exponential moving average of weights (B. Polyak and A. Juditsky, "Acceleration of Stochastic
// Approximation by Averaging", SIAM J. Control Optim. 30, 1992). It often predicts better than the
// last weights.
class WeightAverage {
 public:
  // Begins with the present weights. `decay` is from 0 to below 1.
  WeightAverage(NamedTensors parameters, double decay);

  // Moves the average towards the weights after `steps` steps in total. The first steps have a
  // smaller decay, (1 + steps) / (10 + steps), so that the average forgets the random start.
  void update(Index steps);
  // Exchanges weights and average: the model then predicts with the average. A second call undoes
  // the first.
  void exchange();
  // Returns the average for checkpoints, or the weights while they are exchanged, named
  // "trained.PARAMETER". The tensors share memory with this object.
  const NamedTensors& state() const { return state_; }

 private:
  NamedTensors parameters_;
  double decay_;
  NamedTensors state_;
};

}  // namespace headlight
