#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

// Masks are boolean tensors; everywhere in Headlight, true means hidden.
namespace headlight {

// Returns x with `value` wherever the mask (broadcast to x) is true.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
// Returns a where the condition is true, else b; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// Returns the lower (upper) triangle of the last two axes: elements on and below (above) a
// diagonal; the rest is 0 (false). Diagonal 0 is the main one; positive diagonals are above it. All
// types; throws Error for fewer than two axes.
Tensor tril(const Tensor& x, Index diagonal = 0);
Tensor triu(const Tensor& x, Index diagonal = 0);

// Returns [T, S] bool: hides key s from query t if it is in the future, s > t + (S - T), or before
// the last `window` keys up to the query's own; 0: no window.
Tensor causal_mask(Index query_count, Index key_count, Index window = 0);
inline Tensor causal_mask(Index length) { return causal_mask(length, length); }
// Returns [B, width] bool: hides positions at and after a sequence's length.
Tensor padding_mask(const std::vector<Index>& lengths, Index width);
// Converts a mask in which non-zero means "keep" to one in which true means hidden.
Tensor mask_from_keep(const Tensor& keep);
// Hides a position if either mask hides it; shapes broadcast.
Tensor combine_masks(const Tensor& a, const Tensor& b);

}  // namespace headlight
