#pragma once

#include <array>
#include <vector>

#include "headlight/nn/gpt.h"
#include "nn/packed/packed_matrix.h"

namespace headlight {

struct NormWeights {
  Tensor gain;   // [C], factor after normalising
  Tensor shift;  // [C], zeros without a bias
};

struct DecoderLayer {
  BlockPlan plan;
  std::vector<float> inverse_frequencies = {};       // for the plan's rope
  std::vector<float> long_inverse_frequencies = {};  // with its long_factors; longrope only
  Index rotary_offset =
      0;  // index of its rotation in StepWorkspace::rotary: equal rotations share one
  // By part; empty for parts that the layer does not have.
  std::array<PackedMatrix, kPartCount> matrices = {};
  std::array<NormWeights, kPartCount> norms = {};

  const PackedMatrix& matrix(Part part) const { return matrices[static_cast<std::size_t>(part)]; }
  const NormWeights& norm(Part part) const { return norms[static_cast<std::size_t>(part)]; }
};

// Weights of a model in the form that Decoder steps use.
struct DecoderModel {
  DecoderModel(const Gpt& model, WeightFormat format);

  // Writes a row of the token embedding, [C].
  void embed_token(std::int32_t token, float* to) const;
  const NormWeights& norm(Part part) const { return norms[static_cast<std::size_t>(part)]; }
  // Normalises a vector of `width` elements from `from` to `to`, which may be equal.
  void normalize(const NormWeights& norm, const float* from, float* to, Index width) const;

  const Gpt* gpt;
  Index width;  // C
  // Whether the panels of all matrices hold integers.
  bool has_integers;
  // The model stores its matrices as panels only; see store_packed().
  bool is_packed;
  PackedMatrix packed_embedding;  // [V, C], if is_packed
  Tensor token_embedding;         // [V, C], otherwise
  Tensor position_embedding;      // [block_size, C]; undefined if not learned
  std::vector<DecoderLayer> layers;
  Index rotary_width = 0;                          // of all rotations, for one position
  std::array<NormWeights, kPartCount> norms = {};  // outside of layers, by part
  PackedMatrix head;                               // [V, C]
};

}  // namespace headlight
