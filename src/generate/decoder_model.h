#pragma once

#include <vector>

#include "generate/packed_matrix.h"
#include "headlight/nn/gpt.h"

namespace headlight {

struct NormWeights {
  Tensor gain;   // [C], factor after normalising
  Tensor shift;  // [C], zeros without a bias
};

// Parts that the plan does not have are empty.
struct DecoderLayer {
  BlockPlan plan;
  NormWeights ln_1;
  PackedMatrix attention_in;   // [(H + 2 G) D, C]
  PackedMatrix attention_out;  // [C, H D]
  NormWeights query_norm;      // [D]
  NormWeights key_norm;        // [D]
  std::vector<float> inverse_frequencies;
  NormWeights ln_1_out;
  NormWeights ln_2_out;
  NormWeights ln_2;
  PackedMatrix mlp_in;    // [I, C]
  PackedMatrix mlp_gate;  // [I, C]
  PackedMatrix mlp_out;   // [C, I]
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
