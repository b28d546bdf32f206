#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight {

// Quintic of the Newton-Schulz iteration: s -> a s + b s^3 + c s^5 for every singular value s.
// These coefficients increase small values the fastest and end near 1, not exactly at 1 (Jordan et
// al., "Muon: An optimizer for hidden layers in neural networks", 2024).
struct NewtonSchulzOptions {
  Index steps = 5;
  double a = 3.4445;
  double b = -4.7750;
  double c = 2.0315;
  double epsilon = 1e-7;  // lower bound of the norm in the first division
};

// Returns U S' V^T for a contiguous matrix U S V^T [rows, columns]. Divides it by its Frobenius
// norm, then makes `steps` iterations. By default all singular values that are not tiny relative to
// the norm end between 0.68 and 1.21. Computes in the matrix's type on all threads; the bits do not
// depend on their number. Throws Error for all but floating-point matrices.
Tensor orthogonalize(const Tensor& matrix, const NewtonSchulzOptions& options = {});

}  // namespace headlight
