#pragma once

#include <vector>

#include "generate/packed_matrix.h"
#include "headlight/nn/gpt.h"

namespace headlight {

struct NormWeights {
  Tensor gain;   // [C]
  Tensor shift;  // [C], zeros without a bias
};

struct DecoderLayer {
  BlockPlan plan;
  NormWeights ln_1;
  PackedMatrix attention_in;   // [3 H D, C]
  PackedMatrix attention_out;  // [C, H D]
  // Empty in a model without MLPs.
  NormWeights ln_2 = {};
  PackedMatrix mlp_in = {};   // [4 C, C]
  PackedMatrix mlp_out = {};  // [C, 4 C]
};

// A model as the steps of a Decoder use it.
struct DecoderModel {
  DecoderModel(const Gpt& model, WeightFormat format);

  const Gpt* gpt;
  WeightFormat format;
  Index width;                // C
  Tensor token_embedding;     // [V, C]
  Tensor position_embedding;  // [block_size, C]; undefined where none were learned
  std::vector<DecoderLayer> layers;
  NormWeights ln_f;   // pre-norm only
  PackedMatrix head;  // [V, C]
};

}  // namespace headlight
