#pragma once

#include <span>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/random.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// A low-rank change of some rows of a weight: scale b a (LoRA; Hu et al., arXiv 2106.09685). R is
// the rank.
struct LowRankUpdate {
  Tensor a;             // [R, I]
  Tensor b;             // [P, R]
  Index first_row = 0;  // of the P consecutive rows of the weight that change
  double scale = 1;
  // [P]: lengths that these rows get after the change (DoRA; Liu et al., arXiv 2402.09353).
  // Undefined: the values that the change gives them.
  Tensor lengths = {};
};

// Dropout of the input of low-rank updates, from 0 to below 1.
struct LowRankDropout {
  double probability = 0;
  RandomStream random = {};  // each update forks its own numbers
};

// Returns linear(x, updated_weight(weight, updates), bias) without computing that weight: x
// [..., I], weight [O, I], bias [O] (may be undefined). Dropout acts on the updates' input only.
// `precision` applies to the products with the weight. Throws Error if shapes or types do not
// match.
Tensor low_rank_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       std::span<const LowRankUpdate> updates, const LowRankDropout& dropout = {},
                       Precision precision = Precision::float32);

// Adds the updates to `product` [..., O], the product of x with a weight in any form plus the bias,
// without their lengths. Overwrites the elements of the product, whose op must not need them for
// its gradient.
Tensor low_rank_linear(const Tensor& product, const Tensor& x,
                       std::span<const LowRankUpdate> updates, const LowRankDropout& dropout = {});

// Scales the columns of `product` [..., O], which has the updates and the bias, so that the rows of
// the weight get the lengths of the updates. Their lengths before are constants for gradients, as
// in the paper. Returns the product itself if no update has lengths.
Tensor with_row_lengths(const Tensor& product, const Tensor& weight, const Tensor& bias,
                        std::span<const LowRankUpdate> updates);

// Returns the weight [O, I] plus scale b a of all updates, with their lengths.
Tensor updated_weight(const Tensor& weight, std::span<const LowRankUpdate> updates);

// Returns the lengths [R] of the rows of a matrix [R, I].
Tensor row_lengths(const Tensor& matrix);

}  // namespace headlight
