#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Returns the sum of squares of contiguous elements, computed in float64 on all threads. The order
// of summation depends only on the number of elements.
double sum_of_squares(const Tensor& x);

// Returns that of each tensor.
std::vector<double> sums_of_squares(const std::vector<Tensor>& tensors);

}  // namespace headlight
