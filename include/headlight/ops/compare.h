#pragma once

#include "headlight/tensor/tensor.h"

// Comparisons and logic, elementwise. Results are bool, without gradient. Shapes broadcast by
// NumPy's rule, and types may differ. All throw Error for an undefined tensor and for shapes that
// do not broadcast.
namespace headlight {

Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);

// With a number, which is rounded to the type of `a` first if that is floating: equal(x, 0.1) finds
// 0.1F in a float32 tensor.
Tensor equal(const Tensor& a, double b);
Tensor not_equal(const Tensor& a, double b);
Tensor less(const Tensor& a, double b);
Tensor less_equal(const Tensor& a, double b);
Tensor greater(const Tensor& a, double b);
Tensor greater_equal(const Tensor& a, double b);

// Elements other than 0 count as true.
Tensor logical_not(const Tensor& x);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);

struct CloseOptions {
  double relative = 1e-5;
  double absolute = 1e-8;
  bool equal_nan = false;  // NaN is close to NaN
};

// Returns true if |a - b| <= absolute + relative |b| for all elements; an infinity is close to
// itself only.
bool allclose(const Tensor& a, const Tensor& b, const CloseOptions& options = {});

}  // namespace headlight
