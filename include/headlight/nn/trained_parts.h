#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/nn/module.h"

namespace headlight {

// Returns for each parameter whether it is in the parts in `list`, which are separated by commas:
// - "layer.3", "layer.2-5", "layer.8-": layers, counted from 0;
// - "wte", "ln_f", "lm_head": parameters by the beginning of their names;
// - "attn", "mlp.c_proj": these parts of every layer.
// Throws Error about "train" for a part that fits no parameter.
std::vector<bool> in_trained_parts(const std::vector<std::string>& parameters,
                                   const std::string& list);

// Freezes all parameters of a model outside of these parts.
void train_only(Module& model, const std::string& list);

// Returns the number of the layer in "h.3.attn.c_attn.weight"; nothing outside of layers.
std::optional<Index> layer_of(std::string_view parameter);

}  // namespace headlight
