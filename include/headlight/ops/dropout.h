#pragma once

#include "headlight/tensor/random.h"

namespace headlight {

// Zeroes each element with the given probability and scales the rest by 1 / (1 - probability).
// The mask is a function of (random, element), so backward recomputes it instead of storing it.
// Throws Error unless 0 <= probability < 1. Srivastava et al., JMLR 15, 2014.
Tensor dropout(const Tensor& x, double probability, const RandomStream& random);

}  // namespace headlight
