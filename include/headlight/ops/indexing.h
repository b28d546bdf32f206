#pragma once

#include <optional>

#include "headlight/tensor/tensor.h"

// Positions in tensors: int32 indices along one axis.
namespace headlight {

// Returns the index of the largest element along an axis, or among all elements in row-major order:
// the first of equal ones; NaN counts as the largest. x of any type; with `keepdim` the axis stays
// with size 1. Throws Error if there is no element to choose.
Tensor argmax(const Tensor& x, std::optional<Index> axis = std::nullopt, bool keepdim = false);

struct TopK {
  Tensor values;   // [..., k, ...], largest first, with gradient
  Tensor indices;  // [..., k, ...] int32
};

// Returns the k largest elements along an axis, in the order of argmax(): equal ones by index.
// Throws Error unless k is from 0 to the size of the axis.
TopK topk(const Tensor& x, Index k, Index axis = -1);

// Returns the elements of x at `indices` along an axis: result[i][j] = x[indices[i][j]][j] for axis
// 0. indices: int32, as many axes as x, no other axis longer than that of x; the result has its
// shape. Throws Error for an index outside the axis.
Tensor gather(const Tensor& x, Index axis, const Tensor& indices);

}  // namespace headlight
