#pragma once

#include <optional>
#include <vector>

#include "headlight/tensor/tensor.h"

// Views and rearrangements. Views share the elements of their input.
namespace headlight {

// Returns the elements in row-major order with another shape; one size may be -1 (inferred). The
// result is a view if x is contiguous, else a copy.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor transpose(const Tensor& x, Index axis_a = -2, Index axis_b = -1);
// Axis i of the result is axis order[i] of x.
Tensor permute(const Tensor& x, const std::vector<Index>& order);
// Selects elements start, start + step, ... below end along one axis. As in Python, negative bounds
// count from the end, and bounds are clamped. `step` must be positive.
Tensor slice(const Tensor& x, Index axis, Index start, Index end, Index step = 1);
// Selects one element of an axis, which the result does not have; -1 is the last. Throws Error if
// it is out of range.
Tensor select(const Tensor& x, Index axis, Index index);
// Inserts an axis of size 1 before axis `axis` of x; -1 adds it at the end.
Tensor unsqueeze(const Tensor& x, Index axis);
// Removes one axis if its size is 1, or all axes of size 1.
Tensor squeeze(const Tensor& x, std::optional<Index> axis = std::nullopt);
// Repeats axes of size 1, and adds leading axes, without copying.
Tensor expand(const Tensor& x, const Shape& shape);
Tensor contiguous(const Tensor& x);

// Joins along an existing axis. Throws Error if other axes differ or `parts` is empty.
Tensor concat(const std::vector<Tensor>& parts, Index axis);
// Joins along a new axis.
Tensor stack(const std::vector<Tensor>& parts, Index axis = 0);
// Splits into pieces of `size` elements along one axis; the last may be smaller.
std::vector<Tensor> split(const Tensor& x, Index size, Index axis);

}  // namespace headlight
