#pragma once

#include "formats/huggingface/config_reader.h"
#include "headlight/ops/rope.h"

// Rotary embeddings in a config.json of Hugging Face: rope_parameters in transformers 5, single
// keys and rope_scaling before.
namespace headlight {

struct RopeKeys {
  Index block_size;  // of the model; default original length before a scaling
  const char* theta = "rope_theta";
  const char* share = "partial_rotary_factor";  // share of a head that is rotated
  double usual_theta = 10000;
  double usual_share = 1;
  bool has_yarn = false;  // yarn is allowed; see read_attention_factor()
};

// Reads the options. Throws Error about the key for an unknown type and for values of another kind.
RopeOptions read_rope(const ConfigReader& reader, Index head_width, const RopeKeys& keys);

// Reads one object of rope_parameters. `usual` has the values of missing keys. Throws Error for
// yarn unless it is allowed.
RopeOptions read_rope_parameters(const ConfigReader& parameters, const RopeOptions& usual,
                                 Index block_size, bool has_yarn = false);

// Returns the factor of cosines and sines: other than 1 for yarn only.
double read_attention_factor(const ConfigReader& reader, const RopeOptions& rope);

// Returns the value of rope_parameters.
Json rope_parameters_json(const RopeOptions& rope, Index head_width);

}  // namespace headlight
