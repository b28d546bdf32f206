#pragma once

#include <optional>

#include "formats/huggingface/config_keys.h"

// Rotary embeddings in a config.json of Hugging Face: rope_parameters in transformers 5, single
// keys and rope_scaling before.
namespace headlight {

// Types of layers, by their attention, in layer_types and rope_parameters.
inline constexpr const char* kFullAttention = "full_attention";
inline constexpr const char* kSlidingAttention = "sliding_attention";

// Names and defaults of a family's keys.
struct RopeKeys {
  const char* theta = "rope_theta";
  const char* share = "partial_rotary_factor";  // share of a head that is rotated
  double default_theta = 10000;
  std::optional<double> default_share = {};  // none: whole heads are rotated
  // longrope: usual value of original_max_position_embeddings; 0: longrope is not allowed
  Index longrope_original = 0;
};

// Reads or writes config.rope, for transformers 4 (rope_theta, rope_scaling) and 5
// (rope_parameters). Needs the sizes of the model. Reading throws Error about the key for an
// unknown type and for values of another kind.
void rope_keys(const ConfigKeys& keys, const RopeKeys& names, GptConfig& config);

// As rope_keys(), with an object for each type of layer. Also reads or writes
// config.rope_local_theta, for layers with a window, whose rotation is not scaled.
void layer_rope_keys(const ConfigKeys& keys, double default_theta, double default_local_theta,
                     GptConfig& config);

}  // namespace headlight
