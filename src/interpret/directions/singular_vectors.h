#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// a = left diag(values) right^T, for a [M, N] with M >= N.
struct SingularVectors {
  Tensor left;                 // [M, N] float64, zero columns where the value is 0
  std::vector<double> values;  // [N], the largest first
  Tensor right;                // [N, N]
};

// Computes the singular value decomposition by one-sided Jacobi rotations (Hestenes), on one
// thread: the bits of the result do not depend on the machine's libraries. Throws Error for
// elements that are not finite and more columns than rows.
SingularVectors singular_vectors(const Tensor& a);

}  // namespace headlight
