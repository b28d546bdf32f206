#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight {

// The quintic of Newton-Schulz iteration, s -> a s + b s^3 + c s^5 of every singular value s. These
// coefficients grow small values fastest and end near 1, not at it (Jordan et al., "Muon: An
// optimizer for hidden layers in neural networks", 2024).
struct NewtonSchulzOptions {
  Index steps = 5;
  double a = 3.4445;
  double b = -4.7750;
  double c = 2.0315;
  double epsilon = 1e-7;  // the least norm that is divided by
};

// U S' V^T for a matrix U S V^T [rows, columns], contiguous: `steps` iterations from the matrix
// divided by its Frobenius norm. By default all singular values that are not tiny beside the norm
// come to lie between 0.68 and 1.21. Computed in the matrix's own type on all threads; the bits do
// not depend on their number. Throws Error for anything but a matrix of floating numbers.
Tensor orthogonalize(const Tensor& matrix, const NewtonSchulzOptions& options = {});

}  // namespace headlight
