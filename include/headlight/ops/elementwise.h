#pragma once

#include "headlight/tensor/tensor.h"

// Elementwise functions. Shapes broadcast by NumPy's rule; both operands must have the same
// floating type. All throw Error for other types and for shapes that do not broadcast.
namespace headlight {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);

Tensor add(const Tensor& a, double b);
Tensor mul(const Tensor& a, double b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, double b) { return add(a, -b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, double b) { return mul(a, 1.0 / b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(double a, const Tensor& b) { return sub(Tensor::scalar(a, b.dtype()), b); }
inline Tensor operator/(double a, const Tensor& b) { return div(Tensor::scalar(a, b.dtype()), b); }

// Makes `a` the sum, with its gradient history; the elements that `a` had before stay unchanged for
// other handles. Throws Error if the sum has another shape than `a`.
Tensor& operator+=(Tensor& a, const Tensor& b);
inline Tensor& operator+=(Tensor& a, double b) { return a = a + b; }

Tensor neg(const Tensor& x);
inline Tensor operator-(const Tensor& x) { return neg(x); }
// x to a constant power.
Tensor pow(const Tensor& x, double exponent);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor tanh(const Tensor& x);

// 1 / (1 + exp(-x))
Tensor sigmoid(const Tensor& x);

// The nearest number from `low` to `high` for each element; infinity for no limit. The gradient is
// 0 outside. NaN stays NaN. Throws Error unless low <= high.
Tensor clamp(const Tensor& x, double low, double high);

// cap tanh(x / cap), which is close to x for small |x| and stays within (-cap, cap).
inline Tensor soft_cap(const Tensor& x, double cap) { return tanh(x / cap) * cap; }

// Converts the elements to another floating type; backward converts the gradient back.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace headlight
