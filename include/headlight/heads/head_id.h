#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/nn/gpt_config.h"

namespace headlight {

// One head of a model. Everywhere written LAYER.HEAD, as in "2.3". Where others were pruned, it
// keeps the number that it had before.
struct HeadId {
  Index layer = 0;
  Index head = 0;  // its number in the layer, GptConfig::head_number

  auto operator<=>(const HeadId&) const = default;
};

// "2.3"
std::string head_name(const HeadId& id);

// The heads named by "0.1,2.3", or in the form of transformers' prune_heads "0:1,2;3:0" (heads 1
// and 2 of layer 0, head 0 of layer 3), in ascending order, each once. Throws Error for other text.
std::vector<HeadId> parse_heads(std::string_view text);

// All heads of a model, layer by layer.
std::vector<HeadId> all_heads(const GptConfig& config);

// Where the weights of a head stand among those of its layer's heads. Throws Error for a head that
// the model does not have.
Index place_of(const HeadId& id, const GptConfig& config);

// Throws Error for a head that the model does not have.
void require_heads(const std::vector<HeadId>& heads, const GptConfig& config);

}  // namespace headlight
