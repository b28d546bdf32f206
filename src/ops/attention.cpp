#include "headlight/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// Returns scores [..., T, S] before masking.
Tensor attention_scores(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
  const auto width = static_cast<double>(std::max<Index>(query.size(-1), 1));
  const double scale = options.scale != 0 ? options.scale : 1.0 / std::sqrt(width);
  Tensor scores = matmul(query * scale, transpose(key));
  require_cap(options.cap, "scaled_dot_product_attention");
  if (options.cap > 0) {
    scores = soft_cap(scores, options.cap);
  }
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
  require(options.window == 0 || (options.window > 0 && options.causal),
          "[scaled_dot_product_attention] expected a window from 1 of causal attention, got ",
          options.window);
  if (!options.causal) {
    return options.mask;
  }
  const Tensor hidden = causal_mask(query_count, key_count, options.window);
  return options.mask.defined() ? combine_masks(options.mask, hidden) : hidden;
}

// Repeats every head of x [..., G, S, D] `heads` / G times in a row.
Tensor repeated_heads(const Tensor& x, Index heads) {
  require(x.rank() >= 3 && x.size(-3) > 0 && heads % x.size(-3) == 0,
          "[scaled_dot_product_attention] ", heads, " query heads cannot share the key heads of ",
          x.shape());
  Shape apart = x.shape();  // [..., G, 1, S, D]
  apart.insert(x.rank() - 2, 1);
  Shape copies = apart;
  copies[x.rank() - 2] = heads / x.size(-3);
  Shape joined = x.shape();
  joined[x.rank() - 3] = heads;
  return reshape(expand(reshape(x, apart), copies), joined);
}

// Repeats head g ends[g] - ends[g - 1] times.
Tensor repeated_heads(const Tensor& x, const std::vector<Index>& ends) {
  const Index axis = x.rank() - 3;
  require(x.size(axis) == std::ssize(ends), "[scaled_dot_product_attention] expected ", ends.size(),
          " heads of keys and values, got ", x.shape());
  std::vector<Tensor> parts;
  Index begin = 0;
  for (std::size_t group = 0; group < ends.size(); ++group) {
    const auto index = static_cast<Index>(group);
    for (; begin < ends[group]; ++begin) {
      parts.push_back(slice(x, axis, index, index + 1));
    }
  }
  return concat(parts, axis);
}

}  // namespace

AttentionResult scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                             const Tensor& value, const AttentionOptions& options) {
  if (options.enable_gqa) {
    require(query.rank() >= 3,
            "[scaled_dot_product_attention] expected a query [..., H, T, D], got ", query.shape());
    AttentionOptions plain = options;
    plain.enable_gqa = false;
    const auto repeated = [&](const Tensor& x) {
      return options.key_ends.empty() ? repeated_heads(x, query.size(-3))
                                      : repeated_heads(x, options.key_ends);
    };
    return scaled_dot_product_attention(query, repeated(key), repeated(value), plain);
  }
  check_attention(query, key, value);
  Tensor scores = attention_scores(query, key, options);
  const Tensor mask = whole_mask(options, query.size(-2), key.size(-2));
  if (options.on_scores) {
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    scores = options.on_scores(mask.defined() ? masked_fill(scores, mask, kHidden) : scores);
  }
  Tensor weights = mask.defined() ? masked_softmax(scores, mask) : softmax(scores);
  if (options.on_weights) {
    weights = options.on_weights(weights);
  }
  return {matmul(dropout(weights, options.dropout, options.random), value), weights};
}

}  // namespace headlight
