#pragma once

#include "headlight/kernels/precision.h"
#include "headlight/tensor/tensor.h"

// The two halves of a pre-LN transformer block as one op each: the same values and gradients as the
// ops that they name, with fewer passes over memory and fewer activations kept for backward, which
// normalises again instead. Their precision is that of the products, forward and backward.
namespace headlight {

// Of a layer norm over the last axis.
struct NormParameters {
  Tensor gain;   // [C]; undefined: 1
  Tensor shift;  // [C]; undefined: 0
  double epsilon = 1e-5;
};

// linear(layer_norm(x, norm), weight, bias): x [..., C], weight [O, C], bias [O] (may be undefined)
// to [..., O]. Throws Error when shapes or types do not fit.
Tensor norm_linear(const Tensor& x, const NormParameters& norm, const Tensor& weight,
                   const Tensor& bias = {}, Precision precision = Precision::float32);

// I is the inner width.
struct FeedForwardParameters {
  NormParameters norm;
  Tensor up_weight;    // [I, C]
  Tensor up_bias;      // [I]; may be undefined
  Tensor down_weight;  // [C, I]
  Tensor down_bias;    // [C]; may be undefined
  Precision precision = Precision::float32;
};

// linear(gelu(linear(layer_norm(x), up)), down) with the tanh form of gelu: x [..., C] to [..., C].
// Throws Error when shapes or types do not fit.
Tensor feed_forward(const Tensor& x, const FeedForwardParameters& parameters);

}  // namespace headlight
