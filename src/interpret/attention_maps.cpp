#include "headlight/interpret/attention_maps.h"

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"

namespace headlight {
namespace {

LayerAttention layer_difference(const LayerAttention& first, const LayerAttention& second) {
  require_value(first.layer == second.layer && first.heads == second.heads, "compare",
                "expected attention of the same heads, got others in layer ", first.layer);
  const NoGrad no_grad;
  return {.layer = first.layer, .heads = first.heads, .weights = first.weights - second.weights};
}

}  // namespace

AttentionMaps attention_difference(const AttentionMaps& first, const AttentionMaps& second) {
  require_value(first.tokens.size() == second.tokens.size(), "compare",
                "expected a text of as many tokens, ", first.tokens.size(), ", got ",
                second.tokens.size());
  require_value(first.layers.size() == second.layers.size(), "compare", "expected ",
                first.layers.size(), " layers, got ", second.layers.size());
  AttentionMaps difference{
      .title = first.title == second.title ? first.title : first.title + " − " + second.title,
      .tokens = first.tokens,
      .layers = {},
      .unit = first.unit};
  for (std::size_t i = 0; i < difference.tokens.size(); ++i) {
    if (first.tokens[i] != second.tokens[i]) {
      difference.tokens[i] += "/" + second.tokens[i];
    }
  }
  for (std::size_t i = 0; i < first.layers.size(); ++i) {
    difference.layers.push_back(layer_difference(first.layers[i], second.layers[i]));
  }
  return difference;
}

}  // namespace headlight
