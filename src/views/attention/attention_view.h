#pragma once

#include <string>
#include <string_view>

#include "headlight/heads/attention_maps.h"

// What the SVG figure and the HTML page share: checking their input and naming heads.
namespace headlight {

// Up to this many tokens a weight is shown on a linear scale; longer rows spread the same sum over
// more keys, so that a linear scale would show almost nothing.
inline constexpr Index kLinearScaleTokens = 12;

// The weights of a layer in row-major order.
class LayerWeights {
 public:
  // Throws Error, naming `where`, when the layer does not fit the tokens or a weight is not in
  // [0, 1] (up to rounding).
  LayerWeights(std::string_view where, const AttentionMaps& maps, const LayerAttention& layer);

  Index heads() const { return heads_; }
  Index tokens() const { return tokens_; }
  // [T, T], of the head in row `head` of the layer.
  const float* head(Index head) const;
  // True when no head gives any weight to a later token.
  bool is_causal() const { return causal_; }

 private:
  void check_values(std::string_view where, const LayerAttention& layer);

  Tensor weights_;  // [H, T, T], contiguous
  Index heads_ = 0;
  Index tokens_ = 0;
  bool causal_ = true;
};

// The class of a head as people see it: with a question mark when it is not settled.
std::string score_label(const HeadScore& score);

}  // namespace headlight
