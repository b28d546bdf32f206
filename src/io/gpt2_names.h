#pragma once

#include <string>
#include <string_view>

#include "headlight/nn/architecture.h"

namespace headlight {

// How Gpt::parameters() and the checkpoints of Hugging Face's GPT-2 call the same weights.

// "h.0.ln_1.weight" -> "transformer.h.0.ln_1.weight"; the head has no prefix.
std::string gpt2_name(const Weight& weight);

// The name without the prefix, which some checkpoints lack.
std::string own_name(const std::string& gpt2_name);

// The weights that GPT-2 keeps as inputs x outputs (its class Conv1D), the transpose of ours.
bool is_conv1d(const Weight& weight);

// Causal masks, which old checkpoints carry along: "h.0.attn.bias", "h.0.attn.masked_bias".
bool is_mask_buffer(std::string_view own_name);

}  // namespace headlight
