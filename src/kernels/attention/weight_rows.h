#pragma once

#include "headlight/tensor/shape.h"

// Loops over one row of attention weights, for measurements of heads: weight, distance, entropy.
namespace headlight::kernels {

struct WeightRowSums {
  double weight = 0;
  double distance = 0;  // sum of weights[i] * (n - 1 - i): mean distance back from the last key
  double entropy = 0;   // sum of -weights[i] log weights[i], in nats
  float largest = 0;    // -infinity for n = 0
  Index below = 0;      // number of weights less than the limit
};

struct WeightRowLoops {
  // Also adds weights[i] to columns[i].
  WeightRowSums (*sums)(const float* weights, Index n, float limit, double* columns);
  // Returns the entropy of (a + b) / 2 in nats. Fastest for multiples of 16; zeros change nothing.
  double (*middle_entropy)(const float* a, const float* b, Index n);
};

const WeightRowLoops& weight_row_loops();

}  // namespace headlight::kernels
