#include "headlight/nn/multi_head_attention.h"

#include "headlight/nn/forward_hook.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "nn/head_outputs.h"

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

// Returns a function that shows maps [B, H, T, S] to the hook, one sequence [H, T, S] after the
// other. Empty without a hook for the point.
std::function<Tensor(const Tensor&)> map_change(Point point, Index layer, ForwardHook* hook) {
  if (!wants_any(hook, {point}, layer)) {
    return {};
  }
  return [=](const Tensor& maps) {
    std::vector<Tensor> shown;
    for (Index b = 0; b < maps.size(0); ++b) {
      shown.push_back(visited(hook, {point, layer, b}, select(maps, 0, b)));
    }
    return shown.empty() ? maps : stack(shown);
  };
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
  require(context.caches.empty() && context.prefixes.empty(),
          "[MultiHeadAttention] cannot continue key/value caches; ", "CausalSelfAttention can");
  const Shape scores{query.size(0), options_.heads, query.size(1), key.size(1)};
  check_mask(masks.bias, scores);
  const Index layer = options_.layer;
  const Tensor q = by_head(q_proj_, Point::q, query, context);
  const Tensor k = by_head(k_proj_, Point::k, key, context);
  const Tensor v = by_head(v_proj_, Point::v, value, context);
  const AttentionResult result = scaled_dot_product_attention(
      q, k, v,
      {.mask = joined_mask(masks, scores),
       .causal = masks.causal,
       .bias = masks.bias,
       .dropout = context.training ? options_.dropout : 0,
       .random = context.random.fork(options_.dropout_label),
       .on_scores = map_change(Point::attn_scores, layer, context.hook),
       .on_weights = map_change(Point::pattern, layer, context.hook)});
  if (context.recorder != nullptr && context.recorder->wants(layer)) {
    for (Index b = 0; b < query.size(0); ++b) {
      context.recorder->sequences(layer).push_back(select(result.weights.detach(), 0, b));
    }
  }
  const Tensor joined =
      reshape(transpose(result.output, 1, 2), {query.size(0) * query.size(1), inner_width()});
  const Tensor output = projected_heads(joined, options_.heads, c_proj_, layer, context);
  return {reshape(output, {query.size(0), query.size(1), options_.width}), result.weights};
}

Tensor MultiHeadAttention::by_head(const Linear& projection, Point point, const Tensor& x,
                                   const ForwardContext& context) const {
  const Index batch = x.size(0);
  const Index length = x.size(1);
  const Tensor rows = reshape(projection.forward(x, context),
                              {batch * length, options_.heads, options_.head_width});
  const Tensor shown = visited(context.hook, {point, options_.layer}, rows);
  return transpose(reshape(shown, {batch, length, options_.heads, options_.head_width}), 1, 2);
}

}  // namespace headlight
