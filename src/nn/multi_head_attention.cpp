#include "headlight/nn/multi_head_attention.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "headlight/nn/forward_hook.h"
#include "headlight/nn/key_value_cache.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"

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
  options.key_heads = options.key_heads > 0 ? options.key_heads : options.heads;
  require((options.heads % options.key_heads == 0 || !options.key_ends.empty()) &&
              (options.fused || options.key_heads == options.heads),
          "[MultiHeadAttention] ", options.heads, " heads", options.fused ? "" : " of their own",
          " cannot share ", options.key_heads, " key heads");
  options.key_width = options.key_width > 0 ? options.key_width : options.width;
  options.value_width = options.value_width > 0 ? options.value_width : options.width;
  require(!options.fused ||
              (options.key_width == options.width && options.value_width == options.width),
          "[MultiHeadAttention] a fused projection needs equal widths, got query ", options.width,
          ", key ", options.key_width, ", value ", options.value_width);
  require(options.fused || (!options.qk_norm && !options.rope),
          "[MultiHeadAttention] qk_norm and rope need the fused projection");
  return options;
}

// Returns queries, keys or values (part 0, 1, 2) of rows of qkv [N, (H + 2 G) D]: [T, H or G, D].
Tensor heads_of(const Tensor& qkv, Index part, Index begin, Index end, const AttentionPlan& plan) {
  const Index first = plan.part_begin(part);
  const Index heads = plan.part_heads(part);
  const Tensor rows = slice(slice(qkv, 0, begin, end), 1, first, first + heads * plan.head_width);
  return reshape(rows, {end - begin, heads, plan.head_width});
}

// [T, H, D] -> [H, T, D]
Tensor by_head(const Tensor& x) { return transpose(x, 0, 1); }

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options,
                                       const RandomStream& random)
    : options_(completed(options)) {
  const auto add = [&](const char* name, Index inputs, Index outputs, bool bias) {
    const LinearOptions linear{inputs, outputs, bias, options_.dtype, options_.zeros};
    auto part = std::make_unique<Linear>(linear, random.fork(projections_.size()));
    register_module(name, *part);
    return part;
  };
  if (options_.fused) {
    projections_.push_back(add("c_attn", options_.width, plan().qkv_width(), options_.bias));
  } else {
    projections_.push_back(add("q_proj", options_.width, inner_width(), options_.bias));
    projections_.push_back(add("k_proj", options_.key_width, inner_width(), options_.bias));
    projections_.push_back(add("v_proj", options_.value_width, inner_width(), options_.bias));
  }
  c_proj_ =
      add("c_proj", inner_width(), options_.width, options_.output_bias.value_or(options_.bias));
  if (options_.qk_norm) {
    register_module("q_norm", q_norm_.emplace(*options_.qk_norm));
    register_module("k_norm", k_norm_.emplace(*options_.qk_norm));
  }
}

// Applies the projection of the query (part 0), key (1) or value (2).
Tensor MultiHeadAttention::project(const Tensor& x, Index part) const {
  if (!options_.fused) {
    return projections_[static_cast<std::size_t>(part)]->forward(x);
  }
  const Linear& whole = *projections_[0];
  const Index first = plan().part_begin(part);
  const Index last = first + plan().part_heads(part) * options_.head_width;
  return linear(x, slice(whole.weight, 0, first, last),
                options_.bias ? slice(whole.bias, 0, first, last) : Tensor());
}

// [B, T, H D] -> [B, H, T, D]
Tensor MultiHeadAttention::split_heads(const Tensor& x) const {
  const Index heads = x.size(2) / options_.head_width;
  return transpose(reshape(x, {x.size(0), x.size(1), heads, options_.head_width}), 1, 2);
}

void MultiHeadAttention::check_mask(const Tensor& mask, const Tensor& query,
                                    const Tensor& key) const {
  if (!mask.defined()) {
    return;
  }
  const Shape scores{query.size(0), options_.heads, query.size(1), key.size(1)};
  // Three axes are ambiguous: the first could be the sequences or, by broadcasting, the heads.
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
  require(!options_.qk_norm && !options_.rope,
          "[MultiHeadAttention] qk_norm and rope need forward_ragged");
  for (const Tensor& x : {query, key, value}) {
    require(x.defined() && x.rank() == 3 && x.size(0) == query.size(0),
            "[MultiHeadAttention] expected inputs [B, T, C] of one batch size");
  }
  require(options_.window == 0 || masks.causal,
          "[MultiHeadAttention] a window needs masks.causal, got window ", options_.window);
  check_mask(masks.bias, query, key);
  AttentionResult result = scaled_dot_product_attention(
      split_heads(project(query, 0)), split_heads(project(key, 1)), split_heads(project(value, 2)),
      {.mask = whole_mask(masks, query, key),
       .causal = masks.causal,
       .window = options_.window,
       .enable_gqa = options_.key_heads < options_.heads,
       .bias = masks.bias,
       .scale = options_.scale,
       .dropout = context.training ? options_.dropout : 0,
       .random = context.random.fork(options_.dropout_label),
       .key_ends = options_.key_ends});
  const Tensor joined =
      reshape(transpose(result.output, 1, 2), {query.size(0), query.size(1), inner_width()});
  return {c_proj_->forward(joined), result.weights};
}

Tensor MultiHeadAttention::forward_ragged(const Tensor& x, const std::vector<Index>& offsets,
                                          const ForwardContext& context,
                                          const std::optional<NormParameters>& norm) const {
  require(options_.fused, "[MultiHeadAttention] forward_ragged needs the fused projection");
  const Tensor qkv = projections_[0]->forward(x, context, norm);
  const Tensor normalized =
      queries_and_keys_normalized(parts_visited(qkv, {Point::q, Point::k, Point::v}, context.hook));
  Tensor output = attend(queries_and_keys_turned(normalized, offsets, context), offsets,
                         context);  // [N, H D]
  if (wants_any(context.hook, {Point::z, Point::result}, options_.layer)) {
    const Shape heads{output.size(0), options_.heads, options_.head_width};
    const Tensor z = visited(context.hook, {Point::z, options_.layer}, reshape(output, heads));
    if (context.hook->wants(Point::result, options_.layer)) {
      return output_of(z, context.hook);
    }
    output = reshape(z, output.shape());
  }
  return c_proj_->forward(output, context);
}

Tensor MultiHeadAttention::results(const Tensor& z) const {
  const Shape by_head{options_.width, options_.heads, options_.head_width};
  const Tensor weights = permute(reshape(c_proj_->weight, by_head), {1, 2, 0});  // [H, D, C]
  return transpose(matmul(transpose(z, 0, 1), weights), 0, 1);
}

Tensor MultiHeadAttention::output_of(const Tensor& z, ForwardHook* hook) const {
  const Tensor output =
      sum(visited(hook, {Point::result, options_.layer}, results(z)), {.axes = {1}});
  return c_proj_->bias.defined() ? output + c_proj_->bias : output;
}

// Shows queries, keys and values, or the first ones of these, to the hook at `points`.
Tensor MultiHeadAttention::parts_visited(const Tensor& qkv, std::initializer_list<Point> points,
                                         ForwardHook* hook) const {
  if (!wants_any(hook, points, options_.layer)) {
    return qkv;
  }
  std::vector<Tensor> parts;
  for (Index number = 0; number < 3; ++number) {
    Tensor part = heads_of(qkv, number, 0, qkv.size(0), plan());
    if (number < std::ssize(points)) {
      part = visited(hook, {points.begin()[number], options_.layer}, part);
    }
    parts.push_back(reshape(part, {qkv.size(0), part.size(1) * part.size(2)}));
  }
  return concat(parts, 1);
}

Tensor MultiHeadAttention::queries_and_keys_normalized(const Tensor& qkv) const {
  if (!q_norm_) {
    return qkv;
  }
  const auto rows = [&](const Tensor& part) {
    return reshape(part, {qkv.size(0), part.size(1) * part.size(2)});
  };
  const auto part = [&](Index number) { return heads_of(qkv, number, 0, qkv.size(0), plan()); };
  return concat({rows(q_norm_->forward(part(0))), rows(k_norm_->forward(part(1))), rows(part(2))},
                1);
}

Tensor MultiHeadAttention::queries_and_keys_turned(const Tensor& qkv,
                                                   const std::vector<Index>& offsets,
                                                   const ForwardContext& context) const {
  const std::initializer_list<Point> points{Point::rot_q, Point::rot_k};
  if (!options_.rope) {
    return q_norm_ ? parts_visited(qkv, points, context.hook) : qkv;
  }
  std::vector<std::int32_t> positions(static_cast<std::size_t>(offsets.back()));
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const Index first = context.caches.empty() ? 0 : context.caches[b]->length();
    std::iota(positions.begin() + offsets[b], positions.begin() + offsets[b + 1],
              static_cast<std::int32_t>(first));
  }
  const Index together = options_.heads + options_.key_heads;
  const Shape heads{qkv.size(0), together + options_.key_heads, options_.head_width};
  const Tensor turned = reshape(
      rope(reshape(qkv, heads), Tensor::from(positions, {qkv.size(0)}), *options_.rope, together),
      qkv.shape());
  return parts_visited(turned, points, context.hook);
}

Tensor MultiHeadAttention::attend(const Tensor& qkv, const std::vector<Index>& offsets,
                                  const ForwardContext& context) const {
  bool begins_here = true;
  for (std::size_t b = 0; b < context.caches.size(); ++b) {
    KeyValueCache& cache = *context.caches[b];
    begins_here = begins_here && cache.length() == 0;
    const Tensor fresh = qkv.detach();
    cache.write(options_.layer, heads_of(fresh, 1, offsets[b], offsets[b + 1], plan()),
                heads_of(fresh, 2, offsets[b], offsets[b + 1], plan()));
  }
  if (wants_any(context.hook, {Point::attn_scores, Point::pattern}, options_.layer)) {
    return attend_openly(qkv, offsets, context);
  }
  if (!begins_here) {
    return attend_behind_caches(qkv, offsets, context);
  }
  const bool records = context.recorder != nullptr && context.recorder->wants(options_.layer);
  return ragged_attention(
      qkv, {.heads = options_.heads,
            .key_heads = options_.key_heads,
            .key_ends = options_.key_ends,
            .window = options_.window,
            .offsets = offsets,
            .scale = options_.scale,
            .dropout = context.training ? options_.dropout : 0,
            .random = context.random.fork(options_.dropout_label),
            .weights = records ? &context.recorder->sequences(options_.layer) : nullptr,
            .precision = context.precision});
}

Tensor MultiHeadAttention::attend_behind_caches(const Tensor& qkv,
                                                const std::vector<Index>& offsets,
                                                const ForwardContext& context) const {
  const bool records = context.recorder != nullptr && context.recorder->wants(options_.layer);
  std::vector<Tensor>* weights = records ? &context.recorder->sequences(options_.layer) : nullptr;
  std::vector<Tensor> outputs;
  for (std::size_t b = 0; b < context.caches.size(); ++b) {
    const KeyValueCache& cache = *context.caches[b];
    const Index length = cache.length() + offsets[b + 1] - offsets[b];
    const Tensor query = slice(slice(qkv, 0, offsets[b], offsets[b + 1]), 1, 0, inner_width());
    const Tensor keys = cache.keys(options_.layer, length);
    const Tensor values = cache.values(options_.layer, length);
    outputs.push_back(cached_attention(query, {keys, values, length},
                                       {.key_ends = options_.key_ends,
                                        .window = options_.window,
                                        .scale = options_.scale,
                                        .weights = weights}));
  }
  return concat(outputs, 0);
}

// Attends with complete weight matrices, which a hook may change.
Tensor MultiHeadAttention::attend_openly(const Tensor& qkv, const std::vector<Index>& offsets,
                                         const ForwardContext& context) const {
  const bool records = context.recorder != nullptr && context.recorder->wants(options_.layer);
  std::vector<Tensor> outputs;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const auto part = [&](Index number) {
      return by_head(heads_of(qkv, number, offsets[b], offsets[b + 1], plan()));
    };
    const Index count = offsets[b + 1] - offsets[b];
    Tensor keys = part(1);
    Tensor values = part(2);
    if (!context.caches.empty()) {
      const KeyValueCache& cache = *context.caches[b];
      keys = cache.keys(options_.layer, cache.length() + count);
      values = cache.values(options_.layer, cache.length() + count);
    }
    const auto change = [&](Point point) -> std::function<Tensor(const Tensor&)> {
      if (!context.hook->wants(point, options_.layer)) {
        return {};
      }
      const Place place{point, options_.layer, static_cast<Index>(b)};
      return [place, &context](const Tensor& map) { return visited(context.hook, place, map); };
    };
    const AttentionResult result =
        scaled_dot_product_attention(part(0), keys, values,
                                     {.causal = true,
                                      .window = options_.window,
                                      .enable_gqa = options_.key_heads < options_.heads,
                                      .scale = options_.scale,
                                      .dropout = context.training ? options_.dropout : 0,
                                      .random = context.random.fork(options_.dropout_label).fork(b),
                                      .on_scores = change(Point::attn_scores),
                                      .on_weights = change(Point::pattern),
                                      .key_ends = options_.key_ends});
    if (records) {
      context.recorder->sequences(options_.layer).push_back(result.weights.detach());
    }
    outputs.push_back(reshape(by_head(result.output), {count, inner_width()}));
  }
  return concat(outputs, 0);
}

}  // namespace headlight
