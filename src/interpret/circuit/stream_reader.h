#pragma once

#include "headlight/nn/gpt.h"

namespace headlight {

// Inputs of R heads, each from its own residual stream. Passes streams [R, N, C] through the norm
// before attention, if any, and each head's rows of the query (part 0), key (1) or value (2)
// matrix. Returns [N, R, D].
Tensor read_by_heads(const Gpt& model, Index layer, Index part, const Tensor& streams);

// Gradient of streams [R, N, C], given the gradient of the result [N, R, D].
Tensor read_gradient(const Gpt& model, Index layer, Index part, const Tensor& streams,
                     const Tensor& gradient);

// Input of a layer's MLP at CircuitGraph::mlp_port(), from a stream [N, C]: the result of its norm,
// or its output. An attached hook sees the output.
Tensor read_by_mlp(const Gpt& model, Index layer, Point port, const Tensor& stream);

// What the readers of a port of a CircuitGraph other than the logits get from their streams [R, N,
// C]; replaces the value at that point.
Tensor read_port(const Gpt& model, Point port, Index layer, const Tensor& streams);

// Gradient of the stream [N, C], given the gradient of the result.
Tensor mlp_read_gradient(const Gpt& model, Index layer, Point port, const Tensor& stream,
                         const Tensor& gradient);

}  // namespace headlight
