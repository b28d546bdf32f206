#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

// Masks are boolean tensors, and in all of Headlight true means hidden.
namespace headlight {

// x with `value` wherever the mask (broadcast to x) is true.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
// a where the condition is true, else b; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// The lower (upper) triangle of the last two axes: elements on and below (above) a diagonal, where
// 0 is the main one and positive ones lie above it. The rest is 0.
Tensor tril(const Tensor& x, Index diagonal = 0);
Tensor triu(const Tensor& x, Index diagonal = 0);

// [T, S] bool: query t may not see key s when s lies in its future, s > t + (S - T).
Tensor causal_mask(Index query_count, Index key_count);
inline Tensor causal_mask(Index length) { return causal_mask(length, length); }
// [B, width] bool: positions at and after a sequence's length are hidden.
Tensor padding_mask(const std::vector<Index>& lengths, Index width);
// Turns a mask in which non-zero means "keep" into one in which true means hidden.
Tensor mask_from_keep(const Tensor& keep);
// Hidden when either mask hides; shapes broadcast.
Tensor combine_masks(const Tensor& a, const Tensor& b);

}  // namespace headlight
