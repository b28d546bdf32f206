#pragma once

#include "headlight/kernels/activation.h"
#include "headlight/tensor/tensor.h"

// Activation functions, elementwise. All throw Error for types that are not floating.
namespace headlight {

// Applies the given activation.
Tensor activate(const Tensor& x, Activation activation);

// max(x, 0), with gradient 0 at 0.
inline Tensor relu(const Tensor& x) { return activate(x, Activation::relu); }

enum class GeluForm {
  tanh,  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): GPT-2's "gelu_new"
  erf,   // 0.5 x (1 + erf(x / sqrt(2))): exact
};

// Hendrycks and Gimpel, arXiv 1606.08415.
inline Tensor gelu(const Tensor& x, GeluForm form = GeluForm::tanh) {
  return activate(x, form == GeluForm::tanh ? Activation::gelu_tanh : Activation::gelu_erf);
}

// x sigmoid(x). Elfwing et al., arXiv 1702.03118; Ramachandran et al., arXiv 1710.05941.
inline Tensor silu(const Tensor& x) { return activate(x, Activation::silu); }

}  // namespace headlight
