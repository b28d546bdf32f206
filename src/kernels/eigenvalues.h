#pragma once

#include <complex>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight::kernels {

// Returns the eigenvalues of a matrix [n, n] in any order, by LAPACK's dgeev; where OpenBLAS cannot
// be loaded by eigenvalues_by_qr(), whose last digits differ. Throws Error if an
// element is not finite or the iteration does not converge. Runs on one thread, so that the bits of
// the result are reproducible.
std::vector<std::complex<double>> eigenvalues(std::vector<double> matrix, Index n);

// Returns the eigenvalues of a matrix [n, n] of finite numbers in any order, without LAPACK: by the
// QR algorithm with double shifts on its Hessenberg form (Martin, Peters and Wilkinson, "The QR
// Algorithm for Real Hessenberg Matrices", 1970). Slower than LAPACK for large matrices. Throws
// Error if the iteration does not converge.
std::vector<std::complex<double>> eigenvalues_by_qr(std::vector<double> matrix, Index n);

}  // namespace headlight::kernels
