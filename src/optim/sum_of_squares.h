#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight {

// Of contiguous elements, in float64 on all threads, in an order that depends on their number
// alone.
double sum_of_squares(const Tensor& x);

}  // namespace headlight
