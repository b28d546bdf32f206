#include "show/attention/layer_weights.h"

#include <cmath>
#include <set>

#include "base/strings/display_text.h"
#include "base/transformed.h"
#include "interpret/words.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

// Weights computed in float32 or stored as bfloat16 may exceed 1 by rounding.
constexpr float kLargestWeight = 1.01F;

}  // namespace

LayerWeights::LayerWeights(std::string_view where, const AttentionMaps& maps,
                           const LayerAttention& layer, bool differences)
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
  check_values(where, layer, differences);
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
      largest = std::abs(*weight) > std::abs(largest) ? *weight : largest;
    }
  }
  return maxima;
}

void LayerWeights::check_values(std::string_view where, const LayerAttention& layer,
                                bool differences) {
  const float least = differences ? -kLargestWeight : 0.0F;
  for (Index h = 0; h < heads_; ++h) {
    const float* value = head(h);
    for (Index query = 0; query < tokens_; ++query) {
      for (Index key = 0; key < tokens_; ++key, ++value) {
        // NaN fails this comparison, as it must.
        require(*value >= least && *value <= kLargestWeight, "[", where, "] weight of head ",
                layer.layer, ".", layer.heads[static_cast<std::size_t>(h)], " from query ", query,
                " to key ", key, ": expected a number in ", differences ? "[-1, 1]" : "[0, 1]",
                ", got ", *value);
        causal_ = causal_ && (key <= query || *value == 0.0F);
      }
    }
  }
}

std::string score_label(const HeadScore& score, Language language) {
  std::string_view name = score.name;
  for (const VerdictRule& rule : verdict_rules()) {
    if (verdict_label(rule.name) == name) {
      name = verdict_label(rule.name, language);
      break;
    }
  }
  return printable_text(name) + (score.significant ? "" : " ?");
}

std::vector<std::string> cell_labels(const AttentionMaps& maps) {
  return transformed(maps.tokens, [&](const std::string& token) {
    const std::size_t text = maps.unit == TextUnit::word ? token.find_first_not_of(' ') : 0;
    return display_label(text == token.npos ? token : token.substr(text));
  });
}

std::string counted_cells(Index count, TextUnit unit, Language language) {
  return say(language, concat_text("cells_", name_of(unit)), {{"count", grouped(count)}});
}

}  // namespace headlight
