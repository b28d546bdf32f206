#pragma once

#include "headlight/ops/rope.h"
#include "io/formats/gguf/gguf_keys.h"

namespace headlight {

// The tensor of Llama 3's factors.
inline constexpr std::string_view kGgufRopeFactors = "rope_freqs.weight";

// Its bounds, behind the architecture. The first two are Headlight's own, and are written where
// they are not those of Llama 3.
inline constexpr const char* kGgufLowFrequency = "rope.scaling.low_freq_factor";
inline constexpr const char* kGgufHighFrequency = "rope.scaling.high_freq_factor";
inline constexpr const char* kGgufOriginalContext = "rope.scaling.original_context_length";

// What keys and tensors say about rotary embeddings. Throws Error about the key for a type of
// scaling that is not known, and about the tensor for factors that are not those of Llama 3.
RopeOptions read_gguf_rope(GgufKeys& keys, const GgufFile& file, Index head_width);

// What frequencies are divided by in scaling = llama3 [D / 2], as rope_freqs.weight holds it.
std::vector<float> llama3_factors(const RopeOptions& rope, Index head_width);

}  // namespace headlight
