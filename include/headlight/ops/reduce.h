#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

struct ReduceOptions {
  std::vector<Index> axes{};  // axes to reduce; empty: all
  bool keepdim = false;       // keeps reduced axes with size 1
};

// Reductions accumulate in float64, in an order that depends on the shape alone. All throw Error
// for an axis that is out of range or repeated.

// The sum of int32 and bool is int32. Throws Error if it does not fit.
Tensor sum(const Tensor& x, const ReduceOptions& options = {});
// The mean of int32 and bool is float32. Throws Error for a mean of no elements.
Tensor mean(const Tensor& x, const ReduceOptions& options = {});
// Divides by the number of elements minus `correction`: 1 for a sample, 0 for a population.
Tensor var(const Tensor& x, const ReduceOptions& options = {}, Index correction = 1);
// Standard deviation: the square root of var(), with gradient 0 where it is 0. PyTorch's torch.std;
// a function cannot be named std.
Tensor stddev(const Tensor& x, const ReduceOptions& options = {}, Index correction = 1);
// Equal maxima share the gradient evenly. Throws Error for a maximum of no elements.
Tensor max(const Tensor& x, const ReduceOptions& options = {});

// Sums over the axes along which a tensor of shape `shape` was broadcast to x's shape.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

}  // namespace headlight
