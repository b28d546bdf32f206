#include "views/attention/layer_weights.h"

#include <algorithm>
#include <set>

#include "base/display_text.h"

namespace headlight {
namespace {

// Weights computed in float32 or stored as bfloat16 may exceed 1 by rounding.
constexpr float kLargestWeight = 1.01F;

}  // namespace

LayerWeights::LayerWeights(std::string_view where, const AttentionMaps& maps,
                           const LayerAttention& layer)
    : heads_(static_cast<Index>(layer.heads.size())),
      tokens_(static_cast<Index>(maps.tokens.size())) {
  require(tokens_ > 0, "[", where, "] expected at least one token, got none");
  require(heads_ > 0, "[", where, "] expected at least one head in layer ", layer.layer,
          ", got none");
  require(layer.layer >= 0, "[", where, "] expected a layer number from 0, got ", layer.layer);
  const std::set<Index> distinct(layer.heads.begin(), layer.heads.end());
  require(static_cast<Index>(distinct.size()) == heads_ && *distinct.begin() >= 0, "[", where,
          "] the heads of layer ", layer.layer, " must be different numbers from 0");
  require(layer.weights.defined(), "[", where, "] layer ", layer.layer, " has no weights");
  const Shape expected = {heads_, tokens_, tokens_};
  require(layer.weights.shape() == expected && layer.weights.dtype() == DType::float32, "[", where,
          "] weights of layer ", layer.layer, ": expected float32 ", expected, ", got ",
          layer.weights.dtype(), " ", layer.weights.shape());
  weights_ = to_contiguous(layer.weights);
  check_values(where, layer);
}

const float* LayerWeights::head(Index head) const {
  return weights_.data<float>() + head * tokens_ * tokens_;
}

std::vector<float> LayerWeights::block_maxima(Index row, Index block) const {
  const Index cells = divided_up(tokens_, block);
  std::vector<float> maxima(static_cast<std::size_t>(cells * cells), 0.0F);
  const float* weight = head(row);
  for (Index query = 0; query < tokens_; ++query) {
    for (Index key = 0; key < tokens_; ++key, ++weight) {
      float& largest = maxima[static_cast<std::size_t>(query / block * cells + key / block)];
      largest = std::max(largest, *weight);
    }
  }
  return maxima;
}

void LayerWeights::check_values(std::string_view where, const LayerAttention& layer) {
  for (Index h = 0; h < heads_; ++h) {
    const float* value = head(h);
    for (Index query = 0; query < tokens_; ++query) {
      for (Index key = 0; key < tokens_; ++key, ++value) {
        // NaN fails this comparison, as it must.
        require(*value >= 0.0F && *value <= kLargestWeight, "[", where, "] weight of head ",
                layer.layer, ".", layer.heads[static_cast<std::size_t>(h)], " from query ", query,
                " to key ", key, ": expected a number in [0, 1], got ", *value);
        causal_ = causal_ && (key <= query || *value == 0.0F);
      }
    }
  }
}

std::string score_label(const HeadScore& score) {
  return printable_text(score.name) + (score.settled ? "" : " ?");
}

}  // namespace headlight
