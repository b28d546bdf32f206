#pragma once

#include "formats/gguf/gguf_keys.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {

// Keys of the bounds of the factors, after the architecture. The first two are Headlight's own;
// they are written only if they differ from Llama 3's.
inline constexpr const char* kGgufLowFrequency = "rope.scaling.low_freq_factor";
inline constexpr const char* kGgufHighFrequency = "rope.scaling.high_freq_factor";
inline constexpr const char* kGgufOriginalContext = "rope.scaling.original_context_length";

// Reads or writes the rotary embeddings of a model with this head_width. Reading throws Error about
// the key for an unknown scaling type.
void gguf_rope(GgufKeys& keys, GptConfig& config);

// Reads or writes Llama 3's scaling after gguf_rope(): a tensor of factors. Reading throws Error
// about it for factors that Llama 3's formula does not give.
void gguf_rope_factors(GgufKeys& keys, GptConfig& config);

// Returns the divisors of the frequencies for scaling = llama3 [D / 2], as in rope_freqs.weight.
std::vector<float> llama3_factors(const RopeOptions& rope, Index head_width);

}  // namespace headlight
