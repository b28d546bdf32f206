#pragma once

#include "headlight/ops/rope.h"
#include "io/formats/config_reader.h"

// What a config.json of Hugging Face says about rotary embeddings: rope_parameters as transformers
// 5 writes them, or keys beside the others and rope_scaling, as before.
namespace headlight {

struct RopeKeys {
  Index block_size;  // the model's, the usual one of the training before a scaling
  const char* theta = "rope_theta";
  const char* share = "partial_rotary_factor";  // of a head that is turned
  double usual_theta = 10000;
  double usual_share = 1;
};

// Throws Error about a key for a type that is not known, and for values of another kind.
RopeOptions read_rope(const ConfigReader& reader, Index head_width, const RopeKeys& keys);

// What one object of rope_parameters says, which may leave out what `usual` has.
RopeOptions read_rope_parameters(const ConfigReader& parameters, const RopeOptions& usual,
                                 Index block_size);

// rope_parameters.
Json rope_parameters_json(const RopeOptions& rope, Index head_width);

}  // namespace headlight
