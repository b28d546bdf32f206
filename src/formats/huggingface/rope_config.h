#pragma once

#include "formats/huggingface/config_reader.h"
#include "headlight/ops/rope.h"

// Rotary embeddings in a config.json of Hugging Face: rope_parameters in transformers 5, single
// keys and rope_scaling before.
namespace headlight {

// Types of layers, by their attention, in layer_types and rope_parameters.
inline constexpr const char* kFullAttention = "full_attention";
inline constexpr const char* kSlidingAttention = "sliding_attention";

struct RopeKeys {
  Index block_size;  // of the model; default original length before a scaling
  const char* theta = "rope_theta";
  const char* share = "partial_rotary_factor";  // share of a head that is rotated
  double default_theta = 10000;
  double default_share = 1;
  // longrope: usual value of original_max_position_embeddings; 0: longrope is not allowed
  Index longrope_original = 0;
};

// Reads the options. Throws Error about the key for an unknown type and for values of another kind.
RopeOptions read_rope(const ConfigReader& reader, Index head_width, const RopeKeys& keys);

// Reads config.rope and config.rope_local_theta of a model whose layers with a window have their
// own rotation, without scaling. Needs block_size.
void read_layer_ropes(const ConfigReader& reader, double default_theta, double default_local_theta,
                      GptConfig& config);

// Returns the rotated share of a head.
double rotary_share(const RopeOptions& rope, Index head_width);
// Returns the keys of a rotation for transformers 4 (rope_theta, rope_scaling) and 5
// (rope_parameters).
Json rope_json(const GptConfig& config);
// Returns the same with an object for each type of layer in rope_parameters.
Json layer_ropes_json(const GptConfig& config);

}  // namespace headlight
