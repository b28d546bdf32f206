#pragma once

#include <string>
#include <vector>

#include "headlight/heads/attention_maps.h"

namespace headlight {

// The parameters of BertViz' head view (Vig, "A Multiscale Visualization of Attention in the
// Transformer Model", 2019): {"attention": [{"name", "attn" [L][H][T][T], "left_text" [T],
// "right_text" [T]}], "default_filter", "layer", "heads", "include_layers"}, a filter for each
// document. `attn` has a row for each recorded layer and head, named by include_layers and, in
// addition to BertViz' own keys, by include_heads. Weights have six digits.
//
// Throws Error when there is no document or layer, documents hold different layers or heads, or
// layers different heads: the format has no place for that.
std::string bertviz_json(const std::vector<AttentionMaps>& documents);

}  // namespace headlight
