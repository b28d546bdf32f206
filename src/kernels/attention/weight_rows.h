#pragma once

#include "headlight/tensor/shape.h"

// Sums over rows of attention weights, for whoever measures what heads do.
namespace headlight::kernels {

struct WeightRowSums {
  double weight = 0;
  double distance = 0;  // of weights[i] times n - 1 - i: how far back, seen from the last key
  double entropy = 0;   // of -weights[i] log weights[i], in nats
  float largest = 0;    // -infinity for n = 0
  Index below = 0;      // weights less than the limit
};

struct WeightRowLoops {
  WeightRowSums (*sums)(const float* weights, Index n, float limit);
  // The entropy of (a + b) / 2.
  double (*middle_entropy)(const float* a, const float* b, Index n);
};

const WeightRowLoops& weight_row_loops();

}  // namespace headlight::kernels
