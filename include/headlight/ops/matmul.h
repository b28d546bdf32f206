#pragma once

#include <string_view>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// a [..., M, K] times b [..., K, N] gives [..., M, N]; leading axes broadcast. A vector counts as a
// row on the left, as a column on the right, and its axis is dropped again, as in NumPy.
// Throws Error when inner sizes differ, types differ, or an operand has no axes.
Tensor matmul(const Tensor& a, const Tensor& b);

// Einstein summation over one or two operands: einsum("thd,shd->hts", query, key). Labels are
// single letters; those missing on the right are summed over; a label may not repeat within an
// operand. Two operands become one batched matmul. Throws Error for a malformed or ill-fitting
// equation.
Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b);
Tensor einsum(std::string_view equation, const Tensor& a);

// x [..., I] times weight [O, I] transposed, plus bias [O] (may be undefined): gives [..., O].
// `precision` is that of the products, forward and backward.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              Precision precision = Precision::float32);

}  // namespace headlight
