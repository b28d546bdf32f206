#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/interpret/attention_maps.h"
#include "headlight/interpret/scores/head_verdict.h"

// Input checks and head labels shared by the attention views.
namespace headlight {

// Largest number of tokens with a linear colour scale. Longer rows spread the same sum over more
// keys, so a linear scale would show almost nothing.
inline constexpr Index kLinearScaleTokens = 12;

// Checked weights of a layer in row-major order.
class LayerWeights {
 public:
  // Throws Error "[where] ..." if the layer does not fit the tokens or a weight is not in [0, 1]
  // (up to rounding); of `differences`, in [-1, 1].
  LayerWeights(std::string_view where, const AttentionMaps& maps, const LayerAttention& layer,
               bool differences = false);

  Index heads() const { return heads_; }
  Index tokens() const { return tokens_; }
  // Returns the weights [T, T] of row `head` of the layer (not of head number `head`).
  const float* head(Index head) const;
  // Returns the largest weight (difference: in absolute value) of every block of `block` x `block`
  // tokens of a row, [cells, cells].
  std::vector<float> block_maxima(Index head, Index block) const;
  // Returns true if no head gives weight to a later token.
  bool is_causal() const { return causal_; }

 private:
  void check_values(std::string_view where, const LayerAttention& layer, bool differences);

  Tensor weights_;  // [H, T, T], contiguous
  Index heads_ = 0;
  Index tokens_ = 0;
  bool causal_ = true;
};

// Returns the class of a head for display, with a question mark if it is not settled.
std::string score_label(const HeadScore& score, Language language = Language::english);

// Returns the labels of the maps' tokens for display; words without the blanks before them.
std::vector<std::string> cell_labels(const AttentionMaps& maps);

// Returns "6 words" or "단어 6개" for a number of cells of this unit.
std::string counted_cells(Index count, TextUnit unit, Language language);

}  // namespace headlight
