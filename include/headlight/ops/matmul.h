#pragma once

#include <string_view>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// a [..., M, K] times b [..., K, N] gives [..., M, N]; leading axes broadcast. As in NumPy, a
// vector is a row on the left and a column on the right, and the result drops its axis. Throws
// Error if inner sizes or types differ, or if an operand has no axes.
Tensor matmul(const Tensor& a, const Tensor& b);

// Einstein summation over one or two operands: einsum("thd,shd->hts", query, key). Labels are
// single letters; labels that are missing on the right are summed over. A label must not repeat
// within an operand. Two operands become one batched matmul. Throws Error for a malformed equation
// or operands that do not match it.
Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b);
Tensor einsum(std::string_view equation, const Tensor& a);

// x [..., I] times weight [O, I] transposed, plus bias [O] (may be undefined); returns [..., O].
// `precision` applies to the products, forward and backward.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              Precision precision = Precision::float32);

}  // namespace headlight
