#include "headlight/nn/multi_head_attention.h"

#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"

namespace headlight {
namespace {

MultiHeadAttentionOptions completed(MultiHeadAttentionOptions options) {
  require(options.width > 0 && options.heads > 0,
          "[MultiHeadAttention] expected a positive width and number of heads, got ", options.width,
          " and ", options.heads);
  if (options.head_width == 0) {
    require(options.width % options.heads == 0, "[MultiHeadAttention] width ", options.width,
            " must be a multiple of the number of heads, ", options.heads);
    options.head_width = options.width / options.heads;
  }
  options.key_width = options.key_width > 0 ? options.key_width : options.width;
  options.value_width = options.value_width > 0 ? options.value_width : options.width;
  return options;
}

// Throws Error unless a mask or bias is undefined or fits scores [B, H, T, S]. Three axes are
// ambiguous: the first could be the sequences or, by broadcasting, the heads.
void check_mask(const Tensor& mask, const Shape& scores) {
  require(
      !mask.defined() || ((mask.rank() == 2 || mask.rank() == 4) &&
                          broadcast_shapes(mask.shape(), scores, "MultiHeadAttention") == scores),
      "[MultiHeadAttention] expected a mask [T, S], [B, 1, T, S] or [B, H, T, S] that fits ",
      "scores ", scores, ", got ", mask.shape());
}

// Returns `mask` and `key_padding` as one mask; undefined if there is neither.
Tensor joined_mask(const AttentionMasks& masks, const Shape& scores) {
  check_mask(masks.mask, scores);
  const Tensor& padding = masks.key_padding;
  if (!padding.defined()) {
    return masks.mask;
  }
  const Shape expected{scores[0], scores[3]};
  require(padding.shape() == expected, "[MultiHeadAttention] key padding: expected shape ",
          expected, ", got ", padding.shape());
  const Tensor wide = reshape(padding, {scores[0], 1, 1, scores[3]});
  return masks.mask.defined() ? combine_masks(masks.mask, wide) : wide;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options,
                                       const RandomStream& random)
    : options_(completed(options)),
      q_proj_({options_.width, inner_width(), options_.bias, options_.dtype}, random.fork(0)),
      k_proj_({options_.key_width, inner_width(), options_.bias, options_.dtype}, random.fork(1)),
      v_proj_({options_.value_width, inner_width(), options_.bias, options_.dtype}, random.fork(2)),
      c_proj_({inner_width(), options_.width, options_.bias, options_.dtype}, random.fork(3)) {
  register_module("q_proj", q_proj_);
  register_module("k_proj", k_proj_);
  register_module("v_proj", v_proj_);
  register_module("c_proj", c_proj_);
}

AttentionResult MultiHeadAttention::forward(const Tensor& query, const Tensor& key,
                                            const Tensor& value, const AttentionMasks& masks,
                                            const ForwardContext& context) const {
  for (const Tensor& x : {query, key, value}) {
    require(x.defined() && x.rank() == 3 && x.size(0) == query.size(0),
            "[MultiHeadAttention] expected inputs [B, T, C] of one batch size");
  }
  const Shape scores{query.size(0), options_.heads, query.size(1), key.size(1)};
  check_mask(masks.bias, scores);
  // [B, T, C] -> [B, H, T, D]
  const auto by_head = [&](const Linear& projection, const Tensor& x) {
    const Shape heads{x.size(0), x.size(1), options_.heads, options_.head_width};
    return transpose(reshape(projection.forward(x, context), heads), 1, 2);
  };
  const AttentionResult result = scaled_dot_product_attention(
      by_head(q_proj_, query), by_head(k_proj_, key), by_head(v_proj_, value),
      {.mask = joined_mask(masks, scores),
       .causal = masks.causal,
       .bias = masks.bias,
       .dropout = context.training ? options_.dropout : 0,
       .random = context.random.fork(options_.dropout_label)});
  const Tensor joined =
      reshape(transpose(result.output, 1, 2), {query.size(0), query.size(1), inner_width()});
  return {c_proj_.forward(joined, context), result.weights};
}

}  // namespace headlight
