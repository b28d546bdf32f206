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
  const double scale =
      options.scale != 0 ? options.scale
                         : 1.0 / std::sqrt(static_cast<double>(std::max<Index>(query.size(-1), 1)));
  const Tensor scores = matmul(query * scale, transpose(key));
  const Tensor mask = whole_mask(options, query.size(-2), key.size(-2));
  const Tensor weights = mask.defined() ? masked_softmax(scores, mask) : softmax(scores);
  return {matmul(dropout(weights, options.dropout, options.random), value), weights};
}

}  // namespace headlight
