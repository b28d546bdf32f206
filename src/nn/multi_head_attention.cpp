#include "headlight/nn/multi_head_attention.h"

#include "headlight/nn/head_hook.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"

namespace headlight {
namespace {

MultiHeadAttentionOptions completed(MultiHeadAttentionOptions options) {
  require(options.width > 0 && options.heads > 0,
          "[MultiHeadAttention] expected a positive width and number of heads, got ", options.width,
          " and ", options.heads);
  if (options.head_width == 0) {
    require(options.width % options.heads == 0, "[MultiHeadAttention] a width of ", options.width,
            " does not divide into ", options.heads, " heads");
    options.head_width = options.width / options.heads;
  }
  options.key_width = options.key_width > 0 ? options.key_width : options.width;
  options.value_width = options.value_width > 0 ? options.value_width : options.width;
  require(!options.fused ||
              (options.key_width == options.width && options.value_width == options.width),
          "[MultiHeadAttention] a fused projection needs equal widths, got query ", options.width,
          ", key ", options.key_width, ", value ", options.value_width);
  return options;
}

const Tensor& replaced(const Tensor& before, const Tensor& after) {
  require(after.defined() && after.shape() == before.shape() && after.dtype() == before.dtype(),
          "[HeadHook] expected ", before.shape(), " ", dtype_name(before.dtype()),
          " in return, as it was given");
  return after;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options,
                                       const RandomStream& random)
    : options_(completed(options)) {
  const auto add = [&](const char* name, Index inputs, Index outputs) {
    const LinearOptions linear{inputs, outputs, options_.bias, options_.dtype, options_.zeros};
    auto part = std::make_unique<Linear>(linear, random.fork(projections_.size()));
    register_module(name, *part);
    return part;
  };
  if (options_.fused) {
    projections_.push_back(add("c_attn", options_.width, 3 * inner_width()));
  } else {
    projections_.push_back(add("q_proj", options_.width, inner_width()));
    projections_.push_back(add("k_proj", options_.key_width, inner_width()));
    projections_.push_back(add("v_proj", options_.value_width, inner_width()));
  }
  c_proj_ = add("c_proj", inner_width(), options_.width);
}

// Part 0 is the query, 1 the key, 2 the value.
Tensor MultiHeadAttention::project(const Tensor& x, Index part) const {
  if (!options_.fused) {
    return projections_[static_cast<std::size_t>(part)]->forward(x);
  }
  const Linear& whole = *projections_[0];
  const Index first = part * inner_width();
  const Index last = first + inner_width();
  return linear(x, slice(whole.weight, 0, first, last),
                options_.bias ? slice(whole.bias, 0, first, last) : Tensor());
}

// [B, T, H D] -> [B, H, T, D]
Tensor MultiHeadAttention::split_heads(const Tensor& x) const {
  return transpose(reshape(x, {x.size(0), x.size(1), options_.heads, options_.head_width}), 1, 2);
}

void MultiHeadAttention::check_mask(const Tensor& mask, const Tensor& query,
                                    const Tensor& key) const {
  if (!mask.defined()) {
    return;
  }
  const Shape scores{query.size(0), options_.heads, query.size(1), key.size(1)};
  // Three axes are ambiguous: the first could be the sequences or, as broadcasting has it, the
  // heads.
  require((mask.rank() == 2 || mask.rank() == 4) &&
              broadcast_shapes(mask.shape(), scores, "MultiHeadAttention") == scores,
          "[MultiHeadAttention] expected a mask [T, S], [B, 1, T, S] or [B, H, T, S] that fits ",
          "scores ", scores, ", got ", mask.shape());
}

Tensor MultiHeadAttention::whole_mask(const AttentionMasks& masks, const Tensor& query,
                                      const Tensor& key) const {
  Tensor result = masks.mask;
  check_mask(result, query, key);
  if (masks.key_padding.defined()) {
    const Tensor& padding = masks.key_padding;
    require(padding.shape() == Shape({key.size(0), key.size(1)}),
            "[MultiHeadAttention] key padding: expected shape ", Shape({key.size(0), key.size(1)}),
            ", got ", padding.shape());
    const Tensor wide = reshape(padding, {padding.size(0), 1, 1, padding.size(1)});
    result = result.defined() ? combine_masks(result, wide) : wide;
  }
  return result;
}

AttentionResult MultiHeadAttention::forward(const Tensor& query, const Tensor& key,
                                            const Tensor& value, const AttentionMasks& masks,
                                            const ForwardContext& context) const {
  for (const Tensor& x : {query, key, value}) {
    require(x.defined() && x.rank() == 3 && x.size(0) == query.size(0),
            "[MultiHeadAttention] expected inputs [B, T, C] of one batch size");
  }
  check_mask(masks.bias, query, key);
  AttentionResult result = scaled_dot_product_attention(
      split_heads(project(query, 0)), split_heads(project(key, 1)), split_heads(project(value, 2)),
      {.mask = whole_mask(masks, query, key),
       .causal = masks.causal,
       .bias = masks.bias,
       .scale = 0,
       .dropout = context.training ? options_.dropout : 0,
       .random = context.random.fork(options_.dropout_label)});
  const Tensor joined =
      reshape(transpose(result.output, 1, 2), {query.size(0), query.size(1), inner_width()});
  return {c_proj_->forward(joined), result.weights};
}

Tensor MultiHeadAttention::forward_ragged(const Tensor& x, const std::vector<Index>& offsets,
                                          const ForwardContext& context,
                                          const std::optional<NormParameters>& norm) const {
  require(options_.fused, "[MultiHeadAttention] forward_ragged needs the fused projection");
  const bool records = context.recorder != nullptr && context.recorder->wants(options_.layer);
  const Linear& projection = *projections_[0];
  Tensor qkv = norm ? norm_linear(x, *norm, projection.weight, projection.bias, context.precision)
                    : projection.forward(x, context.precision);
  if (context.hook != nullptr) {
    qkv = replaced(qkv, context.hook->projections(options_.layer, qkv));
  }
  Tensor output = ragged_attention(
      qkv, {.heads = options_.heads,
            .offsets = offsets,
            .scale = 0,
            .dropout = context.training ? options_.dropout : 0,
            .random = context.random.fork(options_.dropout_label),
            .weights = records ? &context.recorder->sequences(options_.layer) : nullptr,
            .precision = context.precision});
  if (context.hook != nullptr) {
    output = replaced(output, context.hook->outputs(options_.layer, output));
  }
  return c_proj_->forward(output, context.precision);
}

Tensor MultiHeadAttention::forward_cached(const Tensor& x, const KeyValueView& earlier) const {
  require(options_.fused, "[MultiHeadAttention] forward_cached needs the fused projection");
  const Index begin = earlier.length;
  const Index end = begin + x.size(0);
  require(end <= earlier.keys.size(1), "[MultiHeadAttention] a cache of ", earlier.keys.size(1),
          " positions cannot take ", x.size(0), " more after ", begin);
  const Tensor qkv = projections_[0]->forward(x).detach();  // [T, 3 H D]
  const Index inner = inner_width();
  const Shape shape{options_.heads, x.size(0), options_.head_width};
  const Shape strides{options_.head_width, 3 * inner, 1};
  slice(earlier.keys, 1, begin, end).copy_from(qkv.strided_view(shape, strides, inner));
  slice(earlier.values, 1, begin, end).copy_from(qkv.strided_view(shape, strides, 2 * inner));
  return c_proj_->forward(
      cached_attention(slice(qkv, 1, 0, inner), {earlier.keys, earlier.values, end}));
}

}  // namespace headlight
