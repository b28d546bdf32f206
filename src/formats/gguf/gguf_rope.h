#pragma once

#include "formats/gguf/gguf_keys.h"
#include "headlight/ops/rope.h"

namespace headlight {

// Name of the tensor with Llama 3's frequency factors.
inline constexpr std::string_view kGgufRopeFactors = "rope_freqs.weight";

// Keys of the bounds of the factors, after the architecture. The first two are Headlight's own;
// they are written only if they differ from Llama 3's.
inline constexpr const char* kGgufLowFrequency = "rope.scaling.low_freq_factor";
inline constexpr const char* kGgufHighFrequency = "rope.scaling.high_freq_factor";
inline constexpr const char* kGgufOriginalContext = "rope.scaling.original_context_length";

// Reads the rotary embeddings from keys and tensors. Throws Error about the key for an unknown
// scaling type, and about the tensor for factors that Llama 3's formula does not give.
RopeOptions read_gguf_rope(GgufKeys& keys, const GgufFile& file, Index head_width);

// Returns the divisors of the frequencies for scaling = llama3 [D / 2], as in rope_freqs.weight.
std::vector<float> llama3_factors(const RopeOptions& rope, Index head_width);

}  // namespace headlight
