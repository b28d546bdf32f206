#pragma once

#include <optional>
#include <vector>

#include "headlight/tensor/tensor.h"

// Views and rearrangements. Views share the elements of their input.
namespace headlight {

// The elements in row-major order under another shape; one size may be -1, to be worked out.
// A view when the elements lie in that order already, else a copy.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor transpose(const Tensor& x, Index axis_a = -2, Index axis_b = -1);
// Axis i of the result is axis order[i] of x.
Tensor permute(const Tensor& x, const std::vector<Index>& order);
// Elements start, start + step, ... below end along one axis. Negative bounds count from the end
// and bounds are clamped, as in Python; step must be positive.
Tensor slice(const Tensor& x, Index axis, Index start, Index end, Index step = 1);
// Repeats axes of size 1, and new axes in front, without copying.
Tensor expand(const Tensor& x, const Shape& shape);
Tensor contiguous(const Tensor& x);

// Joins along an existing axis. Throws Error when other axes differ or nothing is given.
Tensor concat(const std::vector<Tensor>& parts, Index axis);
// Joins along a new axis.
Tensor stack(const std::vector<Tensor>& parts, Index axis = 0);
// Pieces of `size` elements along one axis; the last may be smaller.
std::vector<Tensor> split(const Tensor& x, Index size, Index axis);

}  // namespace headlight
