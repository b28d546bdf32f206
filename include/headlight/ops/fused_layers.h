#pragma once

#include "headlight/kernels/activation.h"
#include "headlight/kernels/precision.h"
#include "headlight/ops/normalization.h"
#include "headlight/tensor/tensor.h"

// The two halves of a pre-LN transformer block as one op each. Values and gradients equal those of
// the composed ops, with fewer passes over memory and fewer saved activations: backward normalises
// again. `precision` applies to the products, forward and backward.
namespace headlight {

// linear(normalize(x, norm), weight, bias): x [..., C], weight [O, C], bias [O] (may be undefined);
// returns [..., O]. Throws Error if shapes or types do not match.
Tensor norm_linear(const Tensor& x, const NormParameters& norm, const Tensor& weight,
                   const Tensor& bias = {}, Precision precision = Precision::float32);

// I is the inner width.
struct FeedForwardParameters {
  NormParameters norm;
  Tensor up_weight;         // [I, C]
  Tensor up_bias;           // [I]; may be undefined
  Tensor down_weight;       // [C, I]
  Tensor down_bias;         // [C]; may be undefined
  Tensor gate_weight = {};  // [I, C]; undefined: no gate
  Tensor gate_bias = {};    // [I]; may be undefined
  Activation activation = Activation::gelu_tanh;
  Precision precision = Precision::float32;
};

// linear(activate(linear(normalize(x), up)), down), or, with a gate (Shazeer, arXiv 2002.05202),
// linear(activate(linear(normalize(x), gate)) * linear(normalize(x), up), down). x is [..., C];
// returns [..., C]. Throws Error if shapes or types do not match.
Tensor feed_forward(const Tensor& x, const FeedForwardParameters& parameters);

}  // namespace headlight
