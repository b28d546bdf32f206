#pragma once

#include <vector>

#include "generate/packed_matrix.h"
#include "headlight/nn/gpt.h"

namespace headlight {

struct NormWeights {
  Tensor gain;   // [C], factor after normalising
  Tensor shift;  // [C], zeros without a bias
};

struct DecoderLayer {
  BlockPlan plan;
  NormWeights ln_1;
  PackedMatrix attention_in;   // [(H + 2 G) D, C]
  PackedMatrix attention_out;  // [C, H D]
  // [D] each, for queries and keys, if the plan has qk_norm.
  NormWeights query_norm = {};
  NormWeights key_norm = {};
  std::vector<float> inverse_frequencies = {};  // for the plan's rope
  // Only if the plan has output norms.
  NormWeights ln_1_out = {};
  NormWeights ln_2_out = {};
  // Empty in a model without MLPs.
  NormWeights ln_2 = {};
  PackedMatrix mlp_in = {};    // [I, C]
  PackedMatrix mlp_gate = {};  // [I, C], only if the plan has a gate
  PackedMatrix mlp_out = {};   // [C, I]
};

// Weights of a model in the form that Decoder steps use.
struct DecoderModel {
  DecoderModel(const Gpt& model, WeightFormat format);

  const Gpt* gpt;
  WeightFormat format;
  Index width;                // C
  Tensor token_embedding;     // [V, C]
  Tensor position_embedding;  // [block_size, C]; undefined if not learned
  std::vector<DecoderLayer> layers;
  NormWeights ln_f;   // pre-norm only
  PackedMatrix head;  // [V, C]
};

}  // namespace headlight
