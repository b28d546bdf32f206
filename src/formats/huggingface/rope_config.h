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
};

// Reads the options. Throws Error about the key for an unknown type and for values of another kind.
RopeOptions read_rope(const ConfigReader& reader, Index head_width, const RopeKeys& keys);

// Reads one object of rope_parameters. `usual` has the values of missing keys.
RopeOptions read_rope_parameters(const ConfigReader& parameters, const RopeOptions& usual,
                                 Index block_size);

// Returns the value of rope_parameters.
Json rope_parameters_json(const RopeOptions& rope, Index head_width);

}  // namespace headlight
