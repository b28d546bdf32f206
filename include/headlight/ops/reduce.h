#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

struct ReduceOptions {
  std::vector<Index> axes{};  // to reduce over; empty: all
  bool keepdim = false;       // leave reduced axes with size 1
};

// Reductions accumulate in float64, in an order that depends on the shape alone. All throw Error
// for an axis that is out of range or named twice.
Tensor sum(const Tensor& x, const ReduceOptions& options = {});
// Throws Error when nothing is left to average.
Tensor mean(const Tensor& x, const ReduceOptions& options = {});
// Divides by the number of elements less `correction`: 1 for a sample, 0 for a population.
Tensor var(const Tensor& x, const ReduceOptions& options = {}, Index correction = 1);
// Equal largest elements share the gradient evenly. Throws Error when an output has no element.
Tensor max(const Tensor& x, const ReduceOptions& options = {});

// Sums over the axes along which `shape` was broadcast to x's shape.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

}  // namespace headlight
