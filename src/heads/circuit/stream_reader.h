#pragma once

#include "headlight/nn/gpt.h"

namespace headlight {

// What each of R heads reads from a residual stream of its own: streams [R, N, C] through the norm
// in front of attention, if it stands there, and the head's rows of the query (part 0), key (1) or
// value (2) matrix, to [N, R, D].
Tensor read_by_heads(const Gpt& model, Index layer, Index part, const Tensor& streams);

// The gradient of streams [R, N, C] from that of what is read [N, R, D].
Tensor read_gradient(const Gpt& model, Index layer, Index part, const Tensor& streams,
                     const Tensor& gradient);

// What the MLP of a layer reads at a port of CircuitGraph::mlp_port() from a stream [N, C]: the
// result of its norm, or what it adds, which an attached hook sees.
Tensor read_by_mlp(const Gpt& model, Index layer, Point port, const Tensor& stream);

// The gradient of the stream [N, C] from that of what is read.
Tensor mlp_read_gradient(const Gpt& model, Index layer, Point port, const Tensor& stream,
                         const Tensor& gradient);

}  // namespace headlight
