#pragma once

#include <string>
#include <vector>

#include "headlight/interpret/attention_maps.h"

namespace headlight {

// Returns the parameters of BertViz' head view (Vig, "A Multiscale Visualization of Attention in
// the Transformer Model", 2019): {"attention": [{"name", "attn" [L][H][T][T], "left_text" [T],
// "right_text" [T]}], "default_filter", "layer", "heads", "include_layers"}, with one filter for
// each document. include_layers holds the layer numbers of `attn`, include_heads (not a BertViz
// key) its head numbers. Weights have six digits.
//
// Throws Error if there is no document or layer, or if documents or layers differ in their layers
// or heads: the format requires the same ones everywhere.
std::string bertviz_json(const std::vector<AttentionMaps>& documents);

}  // namespace headlight
