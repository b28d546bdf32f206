#pragma once

#include <complex>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight::kernels {

// The eigenvalues of a matrix [n, n] in any order, by LAPACK's dgeev. Throws Error when one element
// is not finite or the iteration does not converge. Runs on one thread, so that its bits depend on
// nothing else.
std::vector<std::complex<double>> eigenvalues(std::vector<double> matrix, Index n);

}  // namespace headlight::kernels
