#pragma once

#include <string_view>
#include <vector>

#include "headlight/nn/gpt.h"

namespace headlight::python {

class Model;

// The weights of a model, which outlives them.
struct Weights {
  Model* model = nullptr;
};

// Returns a view of a weight by its name in TransformerLens, in the shape it has there:
// "blocks.0.attn.W_Q" [H, C, D], "embed.W_E" [V, C]. Undefined if the model has none.
Tensor transformer_lens_weight(const Gpt& model, std::string_view name);
// Returns the numbers of the heads along the first axis of such a weight; empty for other weights.
std::vector<Index> transformer_lens_heads(const Gpt& model, std::string_view name);

}  // namespace headlight::python
