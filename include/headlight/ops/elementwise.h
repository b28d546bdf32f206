#pragma once

#include "headlight/kernels/activation.h"
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

// max(x, 0), with gradient 0 at 0.
Tensor relu(const Tensor& x);

enum class GeluForm {
  tanh,  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): GPT-2's "gelu_new"
  erf,   // 0.5 x (1 + erf(x / sqrt(2))): exact
};

// Hendrycks and Gimpel, arXiv 1606.08415.
Tensor gelu(const Tensor& x, GeluForm form = GeluForm::tanh);

// x sigmoid(x). Elfwing et al., arXiv 1702.03118; Ramachandran et al., arXiv 1710.05941.
Tensor silu(const Tensor& x);

// Applies the given activation; see kernels/activation.h.
Tensor activate(const Tensor& x, Activation activation);

// Converts the elements to another floating type; backward converts the gradient back.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace headlight
