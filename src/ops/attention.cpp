#include "headlight/ops/attention.h"

#include <cmath>

#include "headlight/ops/dropout.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/softmax.h"
#include "ops/common.h"

namespace headlight {
namespace {

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  constexpr std::string_view kWhere = "scaled_dot_product_attention";
  for (const Tensor& x : {query, key, value}) {
    require(x.defined() && x.rank() >= 2, "[", kWhere, "] expected tensors with at least two axes");
    require_same_type(x, query, kWhere);
  }
  require(query.size(-1) == key.size(-1), "[", kWhere, "] widths differ: query ", query.shape(),
          ", key ", key.shape());
  require(key.size(-2) == value.size(-2), "[", kWhere, "] lengths differ: key ", key.shape(),
          ", value ", value.shape());
}

// Scores [..., T, S] before anything is hidden.
Tensor attention_scores(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
  const auto width = static_cast<double>(std::max<Index>(query.size(-1), 1));
  const double scale = options.scale != 0 ? options.scale : 1.0 / std::sqrt(width);
  const Tensor scores = matmul(query * scale, transpose(key));
  if (!options.bias.defined()) {
    return scores;
  }
  require_same_type(options.bias, scores, "scaled_dot_product_attention");
  require(broadcast_shapes(options.bias.shape(), scores.shape(), "scaled_dot_product_attention") ==
              scores.shape(),
          "[scaled_dot_product_attention] bias ", options.bias.shape(),
          " does not broadcast to scores ", scores.shape());
  return scores + options.bias;
}

Tensor whole_mask(const AttentionOptions& options, Index query_count, Index key_count) {
  if (!options.causal) {
    return options.mask;
  }
  const Tensor future = causal_mask(query_count, key_count);
  return options.mask.defined() ? combine_masks(options.mask, future) : future;
}

}  // namespace

AttentionResult scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                             const Tensor& value, const AttentionOptions& options) {
  check_attention(query, key, value);
  const Tensor scores = attention_scores(query, key, options);
  const Tensor mask = whole_mask(options, query.size(-2), key.size(-2));
  Tensor weights = mask.defined() ? masked_softmax(scores, mask) : softmax(scores);
  if (options.on_weights) {
    weights = options.on_weights(weights);
  }
  return {matmul(dropout(weights, options.dropout, options.random), value), weights};
}

}  // namespace headlight
