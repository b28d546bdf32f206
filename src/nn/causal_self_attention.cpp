#include "headlight/nn/causal_self_attention.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "headlight/nn/key_value_cache.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/layout.h"
#include "nn/block_order.h"
#include "nn/head_outputs.h"

namespace headlight {
namespace {

AttentionPlan plan_of(const CausalSelfAttentionOptions& options) {
  AttentionPlan plan = options.plan;
  require(options.width > 0 && plan.heads > 0,
          "[CausalSelfAttention] expected a positive width and number of heads, got ",
          options.width, " and ", plan.heads);
  if (plan.head_width == 0) {
    require(options.width % plan.heads == 0, "[CausalSelfAttention] width ", options.width,
            " must be a multiple of the number of heads, ", plan.heads);
    plan.head_width = options.width / plan.heads;
  }
  plan.key_heads = plan.key_heads > 0 ? plan.key_heads : plan.heads;
  require(plan.heads % plan.key_heads == 0 || !plan.key_ends.empty(), "[CausalSelfAttention] ",
          plan.heads, " heads cannot share ", plan.key_heads, " key heads");
  return plan;
}

// Returns queries, keys or values (part 0, 1, 2) of rows of qkv [N, (H + 2 G) D]: [T, H or G, D].
Tensor heads_of(const Tensor& qkv, Index part, Index begin, Index end, const AttentionPlan& plan) {
  const Index first = plan.part_begin(part);
  const Index heads = plan.part_heads(part);
  const Tensor rows = slice(slice(qkv, 0, begin, end), 1, first, first + heads * plan.head_width);
  return reshape(rows, {end - begin, heads, plan.head_width});
}

// As heads_of(), without copying and without gradient.
Tensor slice_heads(const Tensor& qkv, Index part, Index begin, Index end,
                   const AttentionPlan& plan) {
  const Index row = qkv.strides()[0];
  const Index element = qkv.strides()[1];
  return qkv.detach().strided_view({end - begin, plan.part_heads(part), plan.head_width},
                                   {row, plan.head_width * element, element},
                                   begin * row + plan.part_begin(part) * element);
}

// Returns the rows of all sequences.
Tensor joined(const std::vector<Tensor>& sequences, Index axis = 0) {
  return sequences.size() == 1 ? sequences[0] : concat(sequences, axis);
}

// Returns qkv with change(part, heads) in place of the heads of each part: [N, H or G, D].
template <class Change>
Tensor with_parts(const Tensor& qkv, const AttentionPlan& plan, const Change& change) {
  std::vector<Tensor> rows;
  for (Index part = 0; part < 3; ++part) {
    const Tensor heads = change(part, heads_of(qkv, part, 0, qkv.size(0), plan));
    rows.push_back(reshape(heads, {qkv.size(0), plan.part_heads(part) * plan.head_width}));
  }
  return concat(rows, 1);
}

// Returns the position of each sequence's first row: behind the known ones.
std::vector<Index> first_positions(const std::vector<Index>& offsets,
                                   const ForwardContext& context) {
  std::vector<Index> firsts(offsets.size() - 1, 0);
  for (std::size_t b = 0; b < context.caches.size(); ++b) {
    firsts[b] = context.caches[b]->length();
  }
  std::ranges::transform(context.prefixes, firsts.begin(), &KnownPrefix::length);
  return firsts;
}

// Returns the positions [N] int32 of all rows.
Tensor positions_of(const std::vector<Index>& offsets, const std::vector<Index>& firsts) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(offsets.back()));
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    std::iota(positions.begin() + offsets[b], positions.begin() + offsets[b + 1],
              static_cast<std::int32_t>(firsts[b]));
  }
  return Tensor::from(positions, {offsets.back()});
}

// Returns qkv [N, (H + 2 G) D] with rotated queries and keys.
Tensor rotated(const Tensor& qkv, const Tensor& positions, const AttentionPlan& plan,
               const RopeOptions& options) {
  const Index together = plan.heads + plan.key_heads;
  const Shape heads{qkv.size(0), together + plan.key_heads, plan.head_width};
  return reshape(rope(reshape(qkv, heads), positions, options, together), qkv.shape());
}

// [T, H, D] -> [H, T, D]
Tensor by_head(const Tensor& x) { return transpose(x, 0, 1); }

}  // namespace

bool has_limit(const GptConfig& config) { return config.qkv_clip > 0; }

Tensor within_limit(const Tensor& x, const GptConfig& config) {
  return has_limit(config) ? clamp(x, -config.qkv_clip, config.qkv_clip) : x;
}

CausalSelfAttention::CausalSelfAttention(const CausalSelfAttentionOptions& options,
                                         const RandomStream& random)
    : plan_(plan_of(options)),
      config_(options.config),
      layer_(options.layer),
      dropout_(options.dropout),
      dropout_label_(options.dropout_label),
      c_attn_(
          {options.width, plan_.qkv_width(), options.bias, options.dtype, options.initialisation},
          random.fork(0)),
      c_proj_({plan_.inner_width(), options.width, options.output_bias.value_or(options.bias),
               options.dtype, options.initialisation},
              random.fork(1)) {
  register_module("c_attn", c_attn_);
  register_module("c_proj", c_proj_);
  if (config_.qk_norm) {
    const bool is_whole = config_.qk_norm_whole;
    const Index query = is_whole ? plan_.inner_width() : plan_.head_width;
    const Index key = is_whole ? plan_.key_width() : plan_.head_width;
    register_module("q_norm", q_norm_.emplace(config_.norm_options(query, options.dtype)));
    register_module("k_norm", k_norm_.emplace(config_.norm_options(key, options.dtype)));
  }
}

Tensor CausalSelfAttention::forward(const Tensor& x, const std::vector<Index>& offsets,
                                    const ForwardContext& context,
                                    const std::optional<NormParameters>& norm,
                                    KeptAttention* kept) const {
  Tensor qkv = project(c_attn_, x, context, norm);
  qkv = parts_visited(qkv, {Point::q, Point::k, Point::v}, context.hook);
  qkv = within_limit(qkv, config_);
  prepare_queries_and_keys(
      config_, [&] { qkv = queries_and_keys_normalized(qkv); },
      [&] { qkv = queries_and_keys_rotated(qkv, offsets, context); });
  if (plan_.rope || q_norm_) {
    qkv = parts_visited(qkv, {Point::rot_q, Point::rot_k}, context.hook);
  }
  const Tensor attended = attend(qkv, offsets, context, kept);  // [N, H D]
  return projected_heads(attended, plan_.heads, c_proj_, layer_, context);
}

Tensor CausalSelfAttention::queries_and_keys_normalized(const Tensor& qkv) const {
  return with_parts(qkv, plan_, [&](Index part, const Tensor& heads) {
    if (part == 2) {
      return heads;
    }
    const LayerNorm& norm = part == 0 ? *q_norm_ : *k_norm_;
    const Index width = heads.size(1) * heads.size(2);
    return norm.forward(config_.qk_norm_whole ? reshape(heads, {heads.size(0), width}) : heads);
  });
}

// Shows queries, keys and values, or the first ones of these, to the hook at `points`.
Tensor CausalSelfAttention::parts_visited(const Tensor& qkv, std::initializer_list<Point> points,
                                          ForwardHook* hook) const {
  if (!wants_any(hook, points, layer_)) {
    return qkv;
  }
  return with_parts(qkv, plan_, [&](Index part, const Tensor& heads) {
    const bool is_shown = part < std::ssize(points);
    return is_shown ? visited(hook, {points.begin()[part], layer_}, heads) : heads;
  });
}

Tensor CausalSelfAttention::queries_and_keys_rotated(const Tensor& qkv,
                                                     const std::vector<Index>& offsets,
                                                     const ForwardContext& context) const {
  if (!plan_.rope) {
    return qkv;
  }
  const std::vector<Index> firsts = first_positions(offsets, context);
  if (plan_.rope->scaling != RopeScaling::longrope) {
    return rotated(qkv, positions_of(offsets, firsts), plan_, *plan_.rope);
  }
  std::vector<Tensor> sequences;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const Index count = offsets[b + 1] - offsets[b];
    sequences.push_back(rotated(slice(qkv, 0, offsets[b], offsets[b + 1]),
                                positions_of({0, count}, {firsts[b]}), plan_,
                                at_length(*plan_.rope, firsts[b] + count)));
  }
  return joined(sequences);
}

// Returns the list for this layer's attention weights; null unless a recorder wants them.
std::vector<Tensor>* CausalSelfAttention::recorded_weights(const ForwardContext& context) const {
  const bool records = context.recorder != nullptr && context.recorder->wants(layer_);
  return records ? &context.recorder->sequences(layer_) : nullptr;
}

Tensor CausalSelfAttention::attend(const Tensor& qkv, const std::vector<Index>& offsets,
                                   const ForwardContext& context, KeptAttention* kept) const {
  bool caches_empty = true;
  for (std::size_t b = 0; b < context.caches.size(); ++b) {
    KeyValueCache& cache = *context.caches[b];
    // Rounded keys are read as rounded from the beginning on, so that chunks change no bit.
    caches_empty = caches_empty && cache.length() == 0 && cache.type() == CacheType::float32;
    cache.write(layer_, slice_heads(qkv, 1, offsets[b], offsets[b + 1], plan_),
                slice_heads(qkv, 2, offsets[b], offsets[b + 1], plan_));
  }
  if (wants_any(context.hook, {Point::attn_scores, Point::pattern}, layer_)) {
    return attend_unfused(qkv, offsets, context);
  }
  if (!caches_empty || !context.prefixes.empty()) {
    return attend_with_past(qkv, offsets, context);
  }
  return ragged_attention(qkv, {.heads = plan_.heads,
                                .key_heads = plan_.key_heads,
                                .key_ends = plan_.key_ends,
                                .window = plan_.window,
                                .causal = plan_.causal,
                                .offsets = offsets,
                                .scale = plan_.scale,
                                .cap = plan_.cap,
                                .dropout = dropout_of(context),
                                .random = context.random.fork(dropout_label_),
                                .weights = recorded_weights(context),
                                .kept = kept,
                                .precision = context.precision});
}

Tensor CausalSelfAttention::with_past(Index part, const Tensor& qkv, Index sequence,
                                      const std::vector<Index>& offsets,
                                      const ForwardContext& context) const {
  const auto b = static_cast<std::size_t>(sequence);
  const Index count = offsets[b + 1] - offsets[b];
  const auto past = [&](const KeyValueCache& cache, Index length) {
    return part == 1 ? cache.keys(layer_, length) : cache.values(layer_, length);
  };
  if (!context.caches.empty()) {
    return past(*context.caches[b], context.caches[b]->length() + count);
  }
  const Tensor own = by_head(heads_of(qkv, part, offsets[b], offsets[b + 1], plan_));
  if (context.prefixes.empty() || !context.prefixes[b].is_there()) {
    return own;
  }
  return concat({past(*context.prefixes[b].cache, context.prefixes[b].length), own}, 1);
}

Tensor CausalSelfAttention::attend_with_past(const Tensor& qkv, const std::vector<Index>& offsets,
                                             const ForwardContext& context) const {
  const auto all = [&](Index part) {  // [G, M, D]
    std::vector<Tensor> sequences;
    for (Index b = 0; b + 1 < std::ssize(offsets); ++b) {
      sequences.push_back(with_past(part, qkv, b, offsets, context));
    }
    return to_contiguous(joined(sequences, 1));
  };
  std::vector<Index> key_offsets{0};
  for (const Index first : first_positions(offsets, context)) {
    const std::size_t b = key_offsets.size();
    key_offsets.push_back(key_offsets.back() + first + offsets[b] - offsets[b - 1]);
  }
  return cached_attention(slice(qkv, 1, 0, plan_.inner_width()), all(1), all(2),
                          {.offsets = offsets,
                           .key_offsets = key_offsets,
                           .key_ends = plan_.key_ends,
                           .window = plan_.window,
                           .scale = plan_.scale,
                           .cap = plan_.cap,
                           .weights = recorded_weights(context),
                           .precision = context.precision});
}

// Attends with complete weight matrices, which a hook may change.
Tensor CausalSelfAttention::attend_unfused(const Tensor& qkv, const std::vector<Index>& offsets,
                                           const ForwardContext& context) const {
  std::vector<Tensor>* weights = recorded_weights(context);
  std::vector<Tensor> outputs;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const auto sequence = static_cast<Index>(b);
    const Index count = offsets[b + 1] - offsets[b];
    const Tensor query = by_head(heads_of(qkv, 0, offsets[b], offsets[b + 1], plan_));
    const auto change = [&](Point point) -> std::function<Tensor(const Tensor&)> {
      if (!context.hook->wants(point, layer_)) {
        return {};
      }
      const HookSite site{point, layer_, sequence};
      return [site, &context](const Tensor& map) { return visited(context.hook, site, map); };
    };
    const AttentionResult result =
        scaled_dot_product_attention(query, with_past(1, qkv, sequence, offsets, context),
                                     with_past(2, qkv, sequence, offsets, context),
                                     {.causal = plan_.causal,
                                      .window = plan_.window,
                                      .enable_gqa = plan_.key_heads < plan_.heads,
                                      .scale = plan_.scale,
                                      .cap = plan_.cap,
                                      .dropout = dropout_of(context),
                                      .random = context.random.fork(dropout_label_).fork(b),
                                      .on_scores = change(Point::attn_scores),
                                      .on_weights = change(Point::pattern),
                                      .key_ends = plan_.key_ends});
    if (weights != nullptr) {
      weights->push_back(result.weights.detach());
    }
    outputs.push_back(reshape(by_head(result.output), {count, plan_.inner_width()}));
  }
  return joined(outputs);
}

}  // namespace headlight
