#pragma once

#include "headlight/nn/linear.h"

namespace headlight {

// Maps the outputs of all heads, joined [N, H D], to the output of attention:
// c_proj.forward(joined) [N, C]. Shows z [N, H, D] and result [N, H, C] to the hook of the context.
Tensor projected_heads(const Tensor& joined, Index heads, const Linear& c_proj, Index layer,
                       const ForwardContext& context);

}  // namespace headlight
