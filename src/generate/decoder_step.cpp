#include "generate/decoder_step.h"

#include <algorithm>
#include <cmath>

#include "generate/context/context_parts.h"
#include "kernels/attention/attention_step.h"
#include "kernels/layers/activations.h"
#include "kernels/layers/rotary.h"
#include "kernels/loops.h"
#include "kernels/threads/parallel.h"
#include "nn/block_order.h"

namespace headlight {
namespace {

using kernels::kPanelRows;
using kernels::TeamMember;

// Fewest multiply-adds of a thread between two barriers: about ten times as many as it could
// compute during a barrier. A step with less work uses fewer threads.
constexpr Index kMinWorkPerThread = 16384;

// Activates 16 values at a time, so that the division among threads does not change rounding.
void activate_panel(Activation activation, float* x) {
  kernels::activation_loops<float>(activation).value(x, x, kPanelRows);
}

void multiply_panel(const float* factor, float* x) {
  for (Index i = 0; i < kPanelRows; ++i) {
    x[i] *= factor[i];
  }
}

// Returns the position of an item in its sequence.
Index position_of(const DecodeItem& item) { return item.cache->length() + item.ahead; }

// Returns the first query head of a key head, up to `key_heads`: the number of heads.
Index first_head(const AttentionPlan& plan, Index key_head) {
  if (plan.key_ends.empty()) {
    return key_head * (plan.heads / plan.key_heads);
  }
  return key_head == 0 ? 0 : plan.key_ends[static_cast<std::size_t>(key_head - 1)];
}

Index padded(Index length) { return kernels::panel_count(length) * kPanelRows; }

// Returns the cosines and sines of an item's position for a layer.
kernels::RotaryCosSin rotary_cos_sin(const DecoderLayer& layer, const StepWorkspace& work,
                                     Index item) {
  const Index pairs = std::ssize(layer.inverse_frequencies);
  float* const cosines = work.rotary.of(item) + layer.rotary_offset;
  return {.cosines = cosines, .sines = cosines + pairs, .pairs = pairs};
}

// Computes the rotations of all items once for all layers.
void compute_rotary(const DecoderModel& model, std::span<const DecodeItem> items,
                    const StepWorkspace& work) {
  Index computed = 0;
  for (const DecoderLayer& layer : model.layers) {
    const std::optional<RopeOptions>& rope = layer.plan.attention.rope;
    if (!rope || layer.rotary_offset < computed) {
      continue;
    }
    for (Index b = 0; b < std::ssize(items); ++b) {
      const Index position = position_of(items[static_cast<std::size_t>(b)]);
      kernels::compute_rotary({.inverse_frequencies = has_long_factors(*rope, position + 1)
                                                          ? layer.long_inverse_frequencies
                                                          : layer.inverse_frequencies,
                               .position = static_cast<std::int32_t>(position),
                               .style = rope->style,
                               .backward = rope->reversed,
                               .factor = rope->attention_factor},
                              rotary_cos_sin(layer, work, b));
    }
    computed = layer.rotary_offset + 2 * std::ssize(layer.inverse_frequencies);
  }
}

// Returns the multiply-adds of a step on `batch` sequences.
Index step_work(const DecoderModel& model, Index batch) {
  Index work = model.head.rows() * model.width;
  for (const DecoderLayer& layer : model.layers) {
    for (const PackedMatrix& matrix : layer.matrices) {
      work += matrix.rows() * matrix.columns();
    }
  }
  return work * batch;
}

// One team member's part of a step.
struct MemberStep {
  const DecoderModel& model;
  std::span<const DecodeItem> items;
  const StepWorkspace& work;
  const TeamMember& me;
  const GptConfig& config = model.gpt->config();
  Index batch = std::ssize(items);
  bool post_norm = config.norm == NormPosition::post;
  bool shares_caches = std::ranges::any_of(items, [](const auto& item) { return item.ahead > 0; });

  const DecodeItem& item(Index b) const { return items[static_cast<std::size_t>(b)]; }

  // Normalises every sequence from `from` to `to`, which may be equal.
  void normalize(const NormWeights& norm, const StepVectors& from, const StepVectors& to) const {
    for (Index b = 0; b < batch; ++b) {
      model.normalize(norm, from.of(b), to.of(b), model.width);
    }
  }

  void run() const;

 private:
  Index gather_outputs() const;
  void multiply_head(Index count) const;
};

struct HeadRange {
  Index begin;
  Index end;
};

// Computation of one layer by one team member, with the steps that run_block() calls.
class LayerStep {
 public:
  LayerStep(const MemberStep& step, Index number)
      : step_(step),
        me_(step.me),
        number_(number),
        layer_(step.model.layers[static_cast<std::size_t>(number)]),
        work_(step.work) {}

  void visit(Point) {}  // no hook
  void normalize(Branch branch) {
    step_.normalize(
        layer_.norm(branch == Branch::attention ? Part::attention_norm : Part::mlp_norm),
        work_.stream, work_.normalized(me_.index));
  }
  void compute(Branch branch) {
    if (branch == Branch::attention) {
      attend();
    } else {
      feed_forward();
    }
    me_.barrier();
  }

  // Computes this member's rows of stream = residual + matrix x. With post-norms the residual is
  // the normalised stream, of which each member has a copy.
  void add(Branch branch) {
    const bool is_attention = branch == Branch::attention;
    const PackedMatrix& matrix =
        layer_.matrix(is_attention ? Part::attention_output : Part::mlp_out);
    const Index begin = me_.share_begin(matrix.panels());
    const Index end = me_.share_end(matrix.panels());
    matrix.multiply(begin, end, step_.batch, is_attention ? work_.attended : work_.inner,
                    work_.projected);
    if (step_.config.has_output_norms()) {
      me_.barrier();
      if (me_.index == 0) {
        const Part norm = is_attention ? Part::attention_output_norm : Part::mlp_output_norm;
        step_.normalize(layer_.norm(norm), work_.projected, work_.projected);
      }
      me_.barrier();
    }
    const StepVectors residual = step_.post_norm ? work_.normalized(me_.index) : work_.stream;
    const Index row = begin * kPanelRows;
    for (Index b = 0; b < step_.batch; ++b) {
      kernels::loops<float>().add(residual.of(b) + row, work_.projected.of(b) + row,
                                  work_.stream.of(b) + row, (end - begin) * kPanelRows);
    }
    me_.barrier();
  }

 private:
  // Returns the input of a branch.
  StepVectors input() const {
    const bool reads_stream = step_.config.norm == NormPosition::output;
    return reads_stream ? work_.stream : work_.normalized(me_.index);
  }

  StepVectors projection(Index part) const {
    return {work_.qkv.start + layer_.plan.attention.part_begin(part), work_.qkv.stride};
  }

  // If the key heads divide evenly among the members, each member computes only its own heads and
  // needs no barrier.
  void attend() {
    project();
    if (heads_are_shared_evenly()) {
      const Index key_heads = layer_.plan.attention.key_heads;
      for (Index b = 0; b < step_.batch; ++b) {
        for (Index head = me_.share_begin(key_heads); head < me_.share_end(key_heads); ++head) {
          attend_alone(b, head);
        }
      }
      return;
    }
    me_.barrier();
    if (step_.config.qk_norm_whole) {
      normalize_heads_together();
      me_.barrier();
    }
    rotate_share();
    me_.barrier();
    if (attend_share()) {
      me_.barrier();
      merge_share();
    }
  }

  // Computes a key head with its query heads.
  void attend_alone(Index item, Index key_head) const {
    const AttentionPlan& plan = layer_.plan.attention;
    rotate(1, item, key_head, key_head + 1);
    keep_key_and_value(item, key_head);
    rotate(0, item, first_head(plan, key_head), first_head(plan, key_head + 1));
    const ContextParts parts = parts_of(item);
    for (Index part = 0; part < parts.count(); ++part) {
      attend_part(item, key_head, parts, part);
    }
    merge(item, key_head, parts);
  }

  // Rotates this member's share of the queries and keys, and keeps the keys and values.
  void rotate_share() const {
    const Index key_heads = layer_.plan.attention.key_heads;
    for_share(key_heads, [&](Index item, Index first, Index last) {
      rotate(1, item, first, last);
      for (Index head = first; head < last; ++head) {
        keep_key_and_value(item, head);
      }
    });
    for_share(layer_.plan.attention.heads,
              [&](Index item, Index first, Index last) { rotate(0, item, first, last); });
  }

  // Calls body(item, first, last) for this member's share of the heads of all items.
  template <class Body>
  void for_share(Index heads, const Body& body) const {
    const Index end = me_.share_end(step_.batch * heads);
    for (Index i = me_.share_begin(step_.batch * heads); i < end;) {
      const Index first = i % heads;
      const Index last = std::min(heads, first + end - i);
      body(i / heads, first, last);
      i += last - first;
    }
  }

  // Computes this member's share of all parts; shares have about equal numbers of blocks. Returns
  // whether merge_share() must follow, because a context has several parts.
  bool attend_share() const {
    const Index key_heads = layer_.plan.attention.key_heads;
    Index all = 0;
    for (Index b = 0; b < step_.batch; ++b) {
      all += key_heads * parts_of(b).blocks;
    }
    const Index begin = me_.share_begin(all);
    const Index end = me_.share_end(all);
    Index at = 0;
    bool has_parts = false;
    for (Index b = 0; b < step_.batch; ++b) {
      const ContextParts parts = parts_of(b);
      has_parts = has_parts || parts.count() > 1;
      for (Index head = 0; head < key_heads; ++head, at += parts.blocks) {
        const Index first = std::max<Index>(0, begin - at + parts.blocks_of_part - 1);
        for (Index part = first / parts.blocks_of_part;
             part < parts.count() && at + part * parts.blocks_of_part < end; ++part) {
          attend_part(b, head, parts, part);
          if (parts.count() == 1) {
            merge(b, head, parts);
          }
        }
      }
    }
    return has_parts;
  }

  void merge_share() const {
    const Index key_heads = layer_.plan.attention.key_heads;
    const Index all = step_.batch * key_heads;
    for (Index i = me_.share_begin(all); i < me_.share_end(all); ++i) {
      const ContextParts parts = parts_of(i / key_heads);
      if (parts.count() > 1) {
        merge(i / key_heads, i % key_heads, parts);
      }
    }
  }

  // Returns true if each member can compute queries, keys and values for its own heads.
  bool heads_are_shared_evenly() const {
    const AttentionPlan& plan = layer_.plan.attention;
    return plan.key_ends.empty() && plan.key_heads % me_.size == 0 &&
           plan.head_width % kPanelRows == 0 && !step_.config.qk_norm_whole;
  }

  // Computes panels [begin, end) of queries, keys and values.
  void project(Index begin, Index end) const {
    layer_.matrix(Part::query_key_value).multiply(begin, end, step_.batch, input(), work_.qkv);
    const auto clip = static_cast<float>(step_.config.qkv_clip);
    for (Index b = 0; clip > 0 && b < step_.batch; ++b) {
      float* const row = work_.qkv.of(b);
      std::transform(row + begin * kPanelRows, row + end * kPanelRows, row + begin * kPanelRows,
                     [clip](float x) { return std::clamp(x, -clip, clip); });
    }
  }

  void project() const {
    if (!heads_are_shared_evenly()) {
      const Index panels = layer_.matrix(Part::query_key_value).panels();
      project(me_.share_begin(panels), me_.share_end(panels));
      return;
    }
    const AttentionPlan& plan = layer_.plan.attention;
    for (Index part = 0; part < 3; ++part) {
      const Index first = plan.part_begin(part) / kPanelRows;
      const Index panels = plan.part_heads(part) * plan.head_width / kPanelRows;
      project(first + me_.share_begin(panels), first + me_.share_end(panels));
    }
  }

  // Normalises a vector of queries (part 0) or keys (1) in place.
  void normalize_part(Index part, float* vector, Index width) const {
    const Part norm = part == 0 ? Part::query_norm : Part::key_norm;
    step_.model.normalize(layer_.norm(norm), vector, vector, width);
  }

  // Normalises this member's share of the sequences, for qk_norm_whole.
  void normalize_heads_together() const {
    const AttentionPlan& plan = layer_.plan.attention;
    for (Index b = me_.share_begin(step_.batch); b < me_.share_end(step_.batch); ++b) {
      normalize_part(0, projection(0).of(b), plan.inner_width());
      normalize_part(1, projection(1).of(b), plan.key_width());
    }
  }

  // Normalises each query or key of some heads in place, unless all of them are together.
  void normalize_heads(Index part, float* vectors, Index heads) const {
    const Index width = layer_.plan.attention.head_width;
    for (Index head = 0; !step_.config.qk_norm_whole && head < heads; ++head) {
      normalize_part(part, vectors + head * width, width);
    }
  }

  // Applies the norm of heads and the rotation to queries or keys in place.
  void rotate(Index part, Index item, Index first, Index last) const {
    const AttentionPlan& plan = layer_.plan.attention;
    float* vectors = projection(part).of(item) + first * plan.head_width;
    prepare_queries_and_keys(
        step_.config, [&] { normalize_heads(part, vectors, last - first); },
        [&] {
          if (plan.rope) {
            kernels::rotate_heads(vectors, last - first, plan.head_width, plan.rope->style,
                                  rotary_cos_sin(layer_, work_, item));
          }
        });
  }

  void keep_key_and_value(Index item, Index head) const {
    const Index width = layer_.plan.attention.head_width;
    const Index position = position_of(step_.item(item));
    KeyValueCache& cache = *step_.item(item).cache;
    for (Index part = 0; part < 2; ++part) {
      cache.write_row(number_, part, head, position, projection(1 + part).of(item) + head * width);
    }
  }

  ContextParts parts_of(Index item) const {
    return {layer_.plan.attention, position_of(step_.item(item)) + 1};
  }

  // Returns the sums of the parts of a head, [parts, attention_sums(D)].
  float* sums_of(Index item, Index head) const {
    return work_.sums.of(item) + head * sums_stride();
  }
  Index sums_stride() const {
    return ContextParts::most(step_.config.block_size) *
           kernels::attention_sums(layer_.plan.attention.head_width);
  }

  // Returns the key heads that this member computes, if they are shared evenly, or all.
  HeadRange own_heads() const {
    const Index all = layer_.plan.attention.key_heads;
    return heads_are_shared_evenly() ? HeadRange{me_.share_begin(all), me_.share_end(all)}
                                     : HeadRange{0, all};
  }

  // Returns the keys that follow the blocks up to `end` of a head: more of the head, or the first
  // of the next head or the next item.
  kernels::NextKeys keys_after(Index item, Index key_head, const ContextParts& parts,
                               Index end) const {
    const HeadRange heads = own_heads();
    if (end < parts.blocks) {
      return first_keys(item, key_head, parts, end);
    }
    if (key_head + 1 < heads.end) {
      return first_keys(item, key_head + 1, parts, 0);
    }
    return item + 1 < step_.batch ? first_keys(item + 1, heads.begin, parts_of(item + 1), 0)
                                  : kernels::NextKeys();
  }

  kernels::NextKeys first_keys(Index item, Index key_head, const ContextParts& parts,
                               Index block) const {
    const KeyValueCache& cache = *step_.item(item).cache;
    const Index rest = parts.length - block * KeyValueCache::kBlock;
    return {.block = cache.blocks(number_)[static_cast<std::size_t>(parts.before + block)],
            .keys = key_head * kernels::cached_head(cache.type(), layer_.plan.attention.head_width),
            .count = std::min(rest, KeyValueCache::kBlock)};
  }

  // Computes a part of the context for the query heads of a key head. The queries must be
  // normalised and rotated already.
  void attend_part(Index item, Index key_head, const ContextParts& parts, Index part) const {
    const AttentionPlan& plan = layer_.plan.attention;
    const KeyValueCache& cache = *step_.item(item).cache;
    const Index width = plan.head_width;
    const Index begin = part * parts.blocks_of_part;
    const Index end = std::min(parts.blocks, begin + parts.blocks_of_part);
    const void* const* blocks = cache.blocks(number_).data() + parts.before;
    const Index head = first_head(plan, key_head);
    const double default_scale = 1.0 / std::sqrt(static_cast<double>(width));
    const Index size = kernels::cached_head(cache.type(), width);
    kernels::attention_steps().attend(
        {.queries = projection(0).of(item) + head * width,
         .heads = first_head(plan, key_head + 1) - head,
         .blocks = blocks + begin,
         .next = keys_after(item, key_head, parts, end),
         .type = cache.type(),
         .keys = key_head * size,
         .values = (plan.key_heads + key_head) * size,
         .length =
             std::min(parts.length, end * KeyValueCache::kBlock) - begin * KeyValueCache::kBlock,
         .hidden = part == 0 ? parts.hidden : 0,
         .width = width,
         .scale = static_cast<float>(plan.scale > 0 ? plan.scale : default_scale),
         .cap = static_cast<float>(plan.cap),
         .sums = sums_of(item, head) + part * kernels::attention_sums(width),
         .sums_stride = sums_stride()});
  }

  // Computes the outputs of the query heads of a key head from the sums of all parts.
  void merge(Index item, Index key_head, const ContextParts& parts) const {
    const AttentionPlan& plan = layer_.plan.attention;
    for (Index head = first_head(plan, key_head); head < first_head(plan, key_head + 1); ++head) {
      kernels::attention_steps().merge(sums_of(item, head), parts.count(), plan.head_width,
                                       work_.attended.of(item) + head * plan.head_width);
    }
  }

  // Computes this member's rows of inner = activation(matrix x), with a gate times (mlp_in x).
  void feed_forward() {
    const bool is_gated = step_.config.gated_mlp;
    const PackedMatrix& matrix = layer_.matrix(is_gated ? Part::mlp_gate : Part::mlp_in);
    const Index begin = me_.share_begin(matrix.panels());
    const Index end = me_.share_end(matrix.panels());
    matrix.multiply(begin, end, step_.batch, input(), work_.inner);
    if (is_gated) {
      layer_.matrix(Part::mlp_in).multiply(begin, end, step_.batch, input(), work_.gated);
    }
    for (Index b = 0; b < step_.batch; ++b) {
      for (Index panel = begin; panel < end; ++panel) {
        float* inner = work_.inner.of(b) + panel * kPanelRows;
        activate_panel(step_.config.activation, inner);
        if (is_gated) {
          multiply_panel(work_.gated.of(b) + panel * kPanelRows, inner);
        }
      }
    }
  }

  const MemberStep& step_;
  const TeamMember& me_;
  Index number_;
  const DecoderLayer& layer_;
  const StepWorkspace& work_;
};

void MemberStep::run() const {
  const StepVectors normalized = work.normalized(me.index);
  if (post_norm) {
    for (Index b = 0; b < batch; ++b) {
      std::copy_n(work.stream.of(b), model.width, normalized.of(b));
    }
  }
  for (Index i = 0; i < std::ssize(model.layers); ++i) {
    LayerStep layer(*this, i);
    run_block(model.layers[static_cast<std::size_t>(i)].plan, layer);
  }
  if (const Index count = gather_outputs(); count > 0) {
    multiply_head(count);
  }
}

// Writes the head's inputs, of the items that want logits, to the first vectors of this member's
// `normalized`. Returns their number.
Index MemberStep::gather_outputs() const {
  const StepVectors normalized = work.normalized(me.index);
  Index count = 0;
  for (Index b = 0; b < batch; ++b) {
    if (!item(b).wants_logits) {
      continue;
    }
    float* const to = normalized.of(count++);
    if (!post_norm) {
      model.normalize(model.norm(Part::final_norm), work.stream.of(b), to, model.width);
    } else if (to != normalized.of(b)) {
      std::copy_n(normalized.of(b), model.width, to);
    }
    if (config.logit_scale > 0) {
      kernels::loops<float>().scale(static_cast<float>(config.logit_scale), to, model.width);
    }
  }
  return count;
}

void MemberStep::multiply_head(Index count) const {
  const Index panels = model.head.panels();
  const Index begin = me.share_begin(panels);
  const Index end = me.share_end(panels);
  model.head.multiply(begin, end, count, work.normalized(me.index), work.logits);
  for (Index b = 0; config.logit_cap > 0 && b < count; ++b) {
    kernels::loops<float>().soft_cap(static_cast<float>(config.logit_cap),
                                     work.logits.of(b) + begin * kPanelRows, nullptr,
                                     (end - begin) * kPanelRows);
  }
}

}  // namespace

Index step_threads(const DecoderModel& model, Index batch) {
  const Index barriers_per_layer = model.layers[0].plan.mlp_width ? 4 : 2;
  const auto barriers = barriers_per_layer * static_cast<Index>(model.layers.size()) + 1;
  return std::clamp<Index>(step_work(model, batch) / barriers / kMinWorkPerThread, 1,
                           kernels::max_threads());
}

StepVectors StepWorkspace::make(Index batch, Index length) {
  memory_.push_back(Tensor::zeros({batch, padded(length)}));
  return {memory_.back().data<float>(), padded(length)};
}

StepWorkspace::StepWorkspace(const DecoderModel& model, Index batch, Index threads)
    : batch_(batch), threads_(threads) {
  Index inner_width = 1;  // H D
  Index qkv_width = 1;    // (H + 2 G) D
  Index sums_width = 1;   // of one part of the context
  for (const DecoderLayer& layer : model.layers) {
    inner_width = std::max(inner_width, layer.plan.attention.inner_width());
    qkv_width = std::max(qkv_width, layer.plan.attention.qkv_width());
    sums_width = std::max(sums_width, layer.plan.attention.heads *
                                          kernels::attention_sums(layer.plan.attention.head_width));
  }
  stream = make(batch, model.width);
  projected = make(batch, model.width);
  qkv = make(batch, qkv_width);
  sums = make(batch, sums_width * ContextParts::most(model.gpt->block_size()));
  attended = make(batch, inner_width);
  inner = make(batch, model.layers[0].matrix(Part::mlp_in).rows());
  gated = make(batch, model.layers[0].matrix(Part::mlp_gate).rows());
  logits = make(batch, model.head.rows());
  rotary = make(batch, model.rotary_width);
  normalized_ = make(threads * batch, model.width);
}

void run_step(const DecoderModel& model, std::span<const DecodeItem> items,
              const StepWorkspace& workspace, Index threads) {
  compute_rotary(model, items, workspace);
  kernels::parallel_team(threads, step_work(model, std::ssize(items)), [&](const TeamMember& me) {
    MemberStep{.model = model, .items = items, .work = workspace, .me = me}.run();
  });
}

}  // namespace headlight
