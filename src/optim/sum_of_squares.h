#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight {

// Returns the sum of squares of contiguous elements, computed in float64 on all threads. The order
// of summation depends only on the number of elements.
double sum_of_squares(const Tensor& x);

}  // namespace headlight
