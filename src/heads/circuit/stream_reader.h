#pragma once

#include "headlight/nn/gpt.h"

namespace headlight {

// What each of R heads reads from a residual stream of its own: streams [R, N, C] through the norm
// in front of attention and the head's rows of the query (part 0), key (1) or value (2) matrix, to
// [N, R, D].
Tensor read_by_heads(const Gpt& model, Index layer, Index part, const Tensor& streams);

// The gradient of streams [R, N, C] from that of what is read [N, R, D].
Tensor read_gradient(const Gpt& model, Index layer, Index part, const Tensor& streams,
                     const Tensor& gradient);

// The gradient of streams [N, C] from that of the norm's result, in front of a branch.
Tensor norm_gradient(const LayerNorm& norm, const Tensor& streams, const Tensor& gradient);

}  // namespace headlight
