#include "generate/decoder_step.h"

#include <algorithm>
#include <cmath>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "kernels/attention/attention_step.h"
#include "kernels/layers/activations.h"
#include "kernels/layers/rotary.h"
#include "kernels/loops.h"
#include "nn/block_order.h"

namespace headlight {
namespace {

using kernels::kPanelRows;
using kernels::TeamMember;

// Minimum multiply-adds between two barriers for each thread: about ten times as many as a thread
// computes during a barrier.
constexpr Index kWorkOfThread = 16384;

// Activates 16 values at a time, so that the division among threads does not change rounding.
void activate_panel(Activation activation, float* x) {
  kernels::activation_loops<float>(activation).value(x, x, kPanelRows);
}

void multiply_panel(const float* factor, float* x) {
  for (Index i = 0; i < kPanelRows; ++i) {
    x[i] *= factor[i];
  }
}

// Copies rows into a tensor of this shape, [B, ...].
Tensor rows_tensor(const StepVectors& rows, const Shape& shape) {
  Tensor values = Tensor::empty(shape);
  const Index length = numel(shape) / shape[0];
  for (Index b = 0; b < shape[0]; ++b) {
    std::copy_n(rows.of(b), length, values.data<float>() + b * length);
  }
  return values;
}

void store_rows(const Tensor& values, const StepVectors& rows) {
  const Tensor flat = to_contiguous(values);
  const Index length = flat.numel() / flat.size(0);
  for (Index b = 0; b < flat.size(0); ++b) {
    std::copy_n(flat.data<float>() + b * length, length, rows.of(b));
  }
}

// Returns the first position that the query at the last of `length` positions sees.
Index first_seen(const AttentionPlan& plan, Index length) {
  return plan.window > 0 ? std::max<Index>(0, length - plan.window) : 0;
}

Index padded(Index length) { return kernels::panel_count(length) * kPanelRows; }

}  // namespace

void visit_rows(ForwardHook* hook, const Place& place, const StepVectors& rows,
                const Shape& shape) {
  if (hook != nullptr && hook->wants(place.point, place.layer)) {
    const NoGrad no_grad;
    store_rows(visited(hook, place, rows_tensor(rows, shape)), rows);
  }
}

Index step_work(const DecoderModel& model, Index batch) {
  Index work = model.head.rows() * model.width;
  for (const DecoderLayer& layer : model.layers) {
    for (const PackedMatrix* matrix : {&layer.attention_in, &layer.attention_out, &layer.mlp_in,
                                       &layer.mlp_gate, &layer.mlp_out}) {
      work += matrix->rows() * matrix->columns();
    }
  }
  return work * batch;
}

Index step_threads(const DecoderModel& model, Index batch) {
  const Index meetings_of_layer = model.layers[0].plan.mlp_width ? 4 : 2;
  const auto meetings = meetings_of_layer * static_cast<Index>(model.layers.size()) + 1;
  return std::clamp<Index>(step_work(model, batch) / meetings / kWorkOfThread, 1,
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
  for (const DecoderLayer& layer : model.layers) {
    inner_width = std::max(inner_width, layer.plan.attention.inner_width());
    qkv_width = std::max(qkv_width, layer.plan.attention.qkv_width());
  }
  stream = make(batch, model.width);
  projected = make(batch, model.width);
  qkv = make(batch, qkv_width);
  attended = make(batch, inner_width);
  inner = make(batch, model.layers[0].mlp_in.rows());
  gated = make(batch, model.layers[0].mlp_gate.rows());
  logits = make(batch, model.head.rows());
  normalized_ = make(threads * batch, model.width);
  scores_ = make(threads, model.gpt->block_size());
}

StepVectors StepWorkspace::normalized(Index thread) const {
  return {normalized_.of(thread * batch_), normalized_.stride};
}

float* StepWorkspace::scores(Index thread) const { return scores_.of(thread); }

// Computation of one layer by one team member, with the steps that run_block() calls.
class DecoderStep::Layer {
 public:
  Layer(DecoderStep& step, const TeamMember& me, Index number)
      : step_(step),
        me_(me),
        number_(number),
        layer_(step.model_.layers[static_cast<std::size_t>(number)]),
        work_(step.work_) {}

  void visit(Point point);
  void normalize(Branch branch) {
    step_.normalize_stream(me_, branch == Branch::attention ? layer_.ln_1 : layer_.ln_2,
                           step_.model_.gpt->block(number_).norm(branch),
                           norm_points(branch, number_));
  }
  void compute(Branch branch) {
    if (branch == Branch::attention) {
      attend();
    } else {
      feed_forward();
    }
    me_.barrier();
  }
  void add(Branch branch);

 private:
  StepVectors projection(Index part) const {
    return {work_.qkv.start + layer_.plan.attention.part_begin(part), work_.qkv.stride};
  }
  void attend();
  // Returns true if each member can compute queries, keys and values for its own heads.
  bool heads_are_shared_evenly() const {
    const AttentionPlan& plan = layer_.plan.attention;
    return plan.key_ends.empty() && plan.key_heads % me_.size == 0 &&
           plan.head_width % kPanelRows == 0;
  }
  void project();
  // Returns true if a hook needs complete rows before the heads attend.
  bool is_watched() const;
  void visit_projections();
  void turn_all();
  // Applies the norm and the rotation to a query or key in place.
  void turn(Index part, Index item, Index head) const;
  void keep_key_and_value(Index item, Index head) const;
  // Computes the output of a head; its query must be normalised and rotated already.
  void attend_head(Index item, Index head) const;
  // Returns the head's query, its keys and values from a block of the cache on, and its output.
  kernels::AttentionStep attention_step(Index item, Index head, Index first_block) const;
  void make_maps();
  void attend_openly();
  void visit_maps(Point point);
  void take_results();
  void feed_forward();

  DecoderStep& step_;
  const TeamMember& me_;
  Index number_;
  const DecoderLayer& layer_;
  const StepWorkspace& work_;
};

// With post-norms each member has its own copy of the stream.
void DecoderStep::Layer::visit(Point point) {
  if (!step_.is_wanted(point, number_)) {
    return;
  }
  const StepVectors stream = step_.pre_norm_ ? work_.stream : work_.normalized(0);
  step_.visit(me_, {point, number_}, stream, {step_.model_.width});
  if (!step_.pre_norm_ && me_.index > 0) {
    for (Index b = 0; b < step_.batch_; ++b) {
      std::copy_n(stream.of(b), step_.model_.width, work_.normalized(me_.index).of(b));
    }
  }
}

// If the heads divide evenly among the members and no hook watches, each member computes only its
// own heads and needs no barrier.
void DecoderStep::Layer::attend() {
  const Index heads = layer_.plan.attention.heads;
  const Index batch = step_.batch_;
  const Index key_heads = layer_.plan.attention.key_heads;
  project();
  if (!is_watched() && heads_are_shared_evenly()) {
    for (Index b = 0; b < batch; ++b) {
      for (Index head = me_.share_begin(key_heads); head < me_.share_end(key_heads); ++head) {
        turn(1, b, head);
        keep_key_and_value(b, head);
      }
      for (Index head = me_.share_begin(heads); head < me_.share_end(heads); ++head) {
        turn(0, b, head);
        attend_head(b, head);
      }
    }
  } else {
    me_.barrier();
    if (is_watched()) {
      visit_projections();
      turn_all();
    }
    const bool maps_are_watched =
        step_.is_wanted(Point::attn_scores, number_) || step_.is_wanted(Point::pattern, number_);
    if (maps_are_watched) {
      step_.first(me_, [&] { make_maps(); });
    }
    const Index all = batch * key_heads;
    for (Index i = me_.share_begin(all); i < me_.share_end(all); ++i) {
      if (!is_watched()) {
        turn(1, i / key_heads, i % key_heads);
      }
      keep_key_and_value(i / key_heads, i % key_heads);
    }
    if (key_heads < heads || is_watched()) {
      me_.barrier();
    }
    if (maps_are_watched) {
      attend_openly();
    } else {
      for (Index i = me_.share_begin(batch * heads); i < me_.share_end(batch * heads); ++i) {
        if (!is_watched()) {
          turn(0, i / heads, i % heads);
        }
        attend_head(i / heads, i % heads);
      }
    }
  }
  step_.visit(me_, {Point::z, number_}, work_.attended, {heads, layer_.plan.attention.head_width});
}

void DecoderStep::Layer::project() {
  const PackedMatrix& matrix = layer_.attention_in;
  const StepVectors normalized = work_.normalized(me_.index);
  if (!heads_are_shared_evenly()) {
    matrix.multiply(me_.share_begin(matrix.panels()), me_.share_end(matrix.panels()), step_.batch_,
                    normalized, work_.qkv);
    return;
  }
  const AttentionPlan& plan = layer_.plan.attention;
  for (Index part = 0; part < 3; ++part) {
    const Index first = plan.part_begin(part) / kPanelRows;
    const Index panels = plan.part_heads(part) * plan.head_width / kPanelRows;
    matrix.multiply(first + me_.share_begin(panels), first + me_.share_end(panels), step_.batch_,
                    normalized, work_.qkv);
  }
}

bool DecoderStep::Layer::is_watched() const {
  return wants_any(step_.hook_,
                   {Point::q, Point::k, Point::v, Point::rot_q, Point::rot_k, Point::attn_scores,
                    Point::pattern},
                   number_);
}

void DecoderStep::Layer::visit_projections() {
  const AttentionPlan& plan = layer_.plan.attention;
  Index part = 0;
  for (const Point point : {Point::q, Point::k, Point::v}) {
    step_.visit(me_, {point, number_}, projection(part), {plan.part_heads(part), plan.head_width});
    ++part;
  }
}

void DecoderStep::Layer::turn_all() {
  const AttentionPlan& plan = layer_.plan.attention;
  for (Index part = 0; part < 2; ++part) {
    const Index heads = plan.part_heads(part);
    const Index all = step_.batch_ * heads;
    for (Index i = me_.share_begin(all); i < me_.share_end(all); ++i) {
      turn(part, i / heads, i % heads);
    }
  }
  me_.barrier();
  if (plan.rope || layer_.plan.qk_norm) {
    for (const auto& [point, part] : {std::pair{Point::rot_q, 0}, std::pair{Point::rot_k, 1}}) {
      step_.visit(me_, {point, number_}, projection(part),
                  {plan.part_heads(part), plan.head_width});
    }
  }
}

void DecoderStep::Layer::turn(Index part, Index item, Index head) const {
  const AttentionPlan& plan = layer_.plan.attention;
  float* vector = projection(part).of(item) + head * plan.head_width;
  if (layer_.plan.qk_norm) {
    step_.normalize_row(part == 0 ? layer_.query_norm : layer_.key_norm, vector, vector,
                        plan.head_width);
  }
  if (plan.rope) {
    const KeyValueCache& cache = *step_.items_[static_cast<std::size_t>(item)].cache;
    kernels::rotate_row(vector, vector, 1, plan.head_width,
                        {.inverse_frequencies = layer_.inverse_frequencies,
                         .position = static_cast<std::int32_t>(cache.length()),
                         .style = plan.rope->style});
  }
}

void DecoderStep::Layer::keep_key_and_value(Index item, Index head) const {
  const Index width = layer_.plan.attention.head_width;
  const Index heads = layer_.plan.attention.key_heads;
  const KeyValueCache& cache = *step_.items_[static_cast<std::size_t>(item)].cache;
  const Index place = cache.length() % KeyValueCache::kBlock;
  float* block = cache.blocks(number_)[static_cast<std::size_t>(cache.length()) /
                                       static_cast<std::size_t>(KeyValueCache::kBlock)];
  float* keys = block + head * KeyValueCache::kBlock * width;
  float* values = keys + heads * KeyValueCache::kBlock * width;
  std::copy_n(projection(1).of(item) + head * width, width, keys + place * width);
  std::copy_n(projection(2).of(item) + head * width, width, values + place * width);
}

kernels::AttentionStep DecoderStep::Layer::attention_step(Index item, Index head,
                                                          Index first_block) const {
  static_assert(kernels::kAttentionBlock == KeyValueCache::kBlock);
  const AttentionPlan& plan = layer_.plan.attention;
  const Index width = plan.head_width;
  const Index key_head = plan.key_head(head);
  const KeyValueCache& cache = *step_.items_[static_cast<std::size_t>(item)].cache;
  const Index length = cache.length() + 1;
  const Index before = first_block * KeyValueCache::kBlock;
  const double usual_scale = 1.0 / std::sqrt(static_cast<double>(width));
  return {.query = projection(0).of(item) + head * width,
          .blocks = cache.blocks(number_).data() + first_block,
          .keys = key_head * KeyValueCache::kBlock * width,
          .values = (plan.key_heads + key_head) * KeyValueCache::kBlock * width,
          .length = length - before,
          .hidden = first_seen(plan, length) - before,
          .width = width,
          .scale = static_cast<float>(plan.scale > 0 ? plan.scale : usual_scale),
          .output = work_.attended.of(item) + head * width};
}

void DecoderStep::Layer::attend_head(Index item, Index head) const {
  const KeyValueCache& cache = *step_.items_[static_cast<std::size_t>(item)].cache;
  const Index unseen =
      first_seen(layer_.plan.attention, cache.length() + 1) / KeyValueCache::kBlock;
  kernels::AttentionStep step = attention_step(item, head, unseen);
  step.scores = work_.scores(me_.index);
  kernels::attention_steps().attend(step);
}

void DecoderStep::Layer::make_maps() {
  step_.maps_.clear();
  for (const DecodeItem& item : step_.items_) {
    step_.maps_.push_back(
        Tensor::empty({layer_.plan.attention.heads, 1, item.cache->length() + 1}));
  }
}

// Attends with complete rows of scores or weights, which a hook may change.
void DecoderStep::Layer::attend_openly() {
  const Index heads = layer_.plan.attention.heads;
  if (step_.error_) {
    return;
  }
  const auto run = [&](void (*part)(const kernels::AttentionStep&)) {
    const Index all = step_.batch_ * heads;
    for (Index i = me_.share_begin(all); i < me_.share_end(all); ++i) {
      kernels::AttentionStep step = attention_step(i / heads, i % heads, 0);
      Tensor& map = step_.maps_[static_cast<std::size_t>(i / heads)];
      step.scores = map.mutable_data<float>() + i % heads * step.length;
      part(step);
    }
  };
  run(kernels::attention_steps().scores);
  visit_maps(Point::attn_scores);
  run(kernels::attention_steps().weights);
  visit_maps(Point::pattern);
  run(kernels::attention_steps().values);
}

// Replaces the maps by copies of the hook's results, because the hook may keep its tensors.
void DecoderStep::Layer::visit_maps(Point point) {
  if (!step_.is_wanted(point, number_)) {
    return;
  }
  step_.alone(me_, [&] {
    const NoGrad no_grad;
    for (std::size_t b = 0; b < step_.maps_.size(); ++b) {
      const Place place{point, number_, static_cast<Index>(b)};
      step_.maps_[b] = to_contiguous(visited(step_.hook_, place, step_.maps_[b])).clone();
    }
  });
}

// Replaces the output of attention_out by the sum of the results that the hook returned.
void DecoderStep::Layer::take_results() {
  step_.alone(me_, [&] {
    const AttentionPlan& plan = layer_.plan.attention;
    const NoGrad no_grad;
    const Tensor z = rows_tensor(work_.attended, {step_.batch_, plan.heads, plan.head_width});
    const CausalSelfAttention& attention = step_.model_.gpt->block(number_).attention();
    store_rows(attention.output_of(z, step_.hook_), work_.projected);
  });
}

// Computes this member's rows of stream = residual + matrix x. With post-norms the residual is the
// normalised stream, of which each member has a copy.
void DecoderStep::Layer::add(Branch branch) {
  const bool is_attention = branch == Branch::attention;
  const PackedMatrix& matrix = is_attention ? layer_.attention_out : layer_.mlp_out;
  const Index begin = me_.share_begin(matrix.panels());
  const Index end = me_.share_end(matrix.panels());
  matrix.multiply(begin, end, step_.batch_, is_attention ? work_.attended : work_.inner,
                  work_.projected);
  if (is_attention && step_.is_wanted(Point::result, number_)) {
    take_results();
  }
  if (layer_.plan.output_norms) {
    me_.barrier();
    if (me_.index == 0) {
      step_.normalize(is_attention ? layer_.ln_1_out : layer_.ln_2_out, work_.projected,
                      work_.projected);
    }
    me_.barrier();
  }
  step_.visit(me_, {is_attention ? Point::attn_out : Point::mlp_out, number_}, work_.projected,
              {step_.model_.width});
  const StepVectors residual = step_.pre_norm_ ? work_.stream : work_.normalized(me_.index);
  const Index row = begin * kPanelRows;
  for (Index b = 0; b < step_.batch_; ++b) {
    kernels::loops<float>().add(residual.of(b) + row, work_.projected.of(b) + row,
                                work_.stream.of(b) + row, (end - begin) * kPanelRows);
  }
  me_.barrier();
}

// Computes this member's rows of inner = activation(matrix x), with a gate times (mlp_in x).
void DecoderStep::Layer::feed_forward() {
  const bool is_gated = layer_.plan.gated_mlp;
  const PackedMatrix& matrix = is_gated ? layer_.mlp_gate : layer_.mlp_in;
  const Index begin = me_.share_begin(matrix.panels());
  const Index end = me_.share_end(matrix.panels());
  matrix.multiply(begin, end, step_.batch_, work_.normalized(me_.index), work_.inner);
  if (is_gated) {
    layer_.mlp_in.multiply(begin, end, step_.batch_, work_.normalized(me_.index), work_.gated);
  }
  step_.visit(me_, {Point::mlp_pre, number_}, work_.inner, {*layer_.plan.mlp_width});
  for (Index b = 0; b < step_.batch_; ++b) {
    for (Index panel = begin; panel < end; ++panel) {
      float* inner = work_.inner.of(b) + panel * kPanelRows;
      activate_panel(step_.model_.gpt->config().activation, inner);
      if (is_gated) {
        multiply_panel(work_.gated.of(b) + panel * kPanelRows, inner);
      }
    }
  }
  step_.visit(me_, {Point::mlp_post, number_}, work_.inner, {*layer_.plan.mlp_width});
}

DecoderStep::DecoderStep(const DecoderModel& model, std::span<const DecodeItem> items,
                         const StepWorkspace& workspace, ForwardHook* hook)
    : model_(model),
      items_(items),
      work_(workspace),
      hook_(hook),
      batch_(static_cast<Index>(items.size())),
      pre_norm_(model.gpt->config().norm == NormPosition::pre) {}

void DecoderStep::run(const TeamMember& me) {
  if (!pre_norm_) {
    for (Index b = 0; b < batch_; ++b) {
      std::copy_n(work_.stream.of(b), model_.width, work_.normalized(me.index).of(b));
    }
  }
  for (Index i = 0; i < std::ssize(model_.layers); ++i) {
    Layer layer(*this, me, i);
    run_block(model_.layers[static_cast<std::size_t>(i)].plan, layer);
  }
  if (pre_norm_) {
    normalize_stream(me, model_.ln_f, *model_.gpt->final_norm(), kFinalNorm);
  }
  const PackedMatrix& head = model_.head;
  head.multiply(me.share_begin(head.panels()), me.share_end(head.panels()), batch_,
                work_.normalized(me.index), work_.logits);
  visit(me, {Point::logits}, work_.logits, {head.rows()});
}

void DecoderStep::run_head(const TeamMember& me) const {
  const PackedMatrix& head = model_.head;
  head.multiply(me.share_begin(head.panels()), me.share_end(head.panels()), 1, work_.normalized(0),
                work_.logits);
}

void DecoderStep::rethrow() const {
  if (error_) {
    std::rethrow_exception(error_);
  }
}

void DecoderStep::normalize_stream(const TeamMember& me, const NormWeights& weights,
                                   const LayerNorm& norm, const NormPoints& points) {
  if (!wants_any(hook_, {points.scale, points.normalized}, points.layer)) {
    normalize(weights, work_.stream, work_.normalized(me.index));
    return;
  }
  alone(me, [&] {
    const NoGrad no_grad;
    const Tensor x = rows_tensor(work_.stream, {batch_, model_.width});
    store_rows(norm.forward(x, hook_, points), work_.normalized(0));
  });
  if (me.index > 0) {
    for (Index b = 0; b < batch_; ++b) {
      std::copy_n(work_.normalized(0).of(b), model_.width, work_.normalized(me.index).of(b));
    }
  }
}

void DecoderStep::normalize(const NormWeights& norm, const StepVectors& from,
                            const StepVectors& to) const {
  for (Index b = 0; b < batch_; ++b) {
    normalize_row(norm, from.of(b), to.of(b), model_.width);
  }
}

void DecoderStep::normalize_row(const NormWeights& norm, const float* from, float* to,
                                Index width) const {
  const GptConfig& config = model_.gpt->config();
  const auto& loops = kernels::loops<float>();
  const auto& of_kind = config.norm_type == NormKind::rms ? loops.rms_norm : loops.layer_norm;
  float mean = 0;
  float inverse_deviation = 0;
  of_kind.value(from, norm.gain.data<float>(), norm.shift.data<float>(), to, width,
                static_cast<float>(config.layer_norm_epsilon), &mean, &inverse_deviation);
}

template <class Body>
void DecoderStep::first(const TeamMember& me, const Body& body) {
  if (me.index == 0 && !error_) {
    try {
      body();
    } catch (...) {
      error_ = std::current_exception();
    }
  }
}

template <class Body>
void DecoderStep::alone(const TeamMember& me, const Body& body) {
  me.barrier();
  first(me, body);
  me.barrier();
}

void DecoderStep::visit(const TeamMember& me, const Place& place, const StepVectors& rows,
                        const Shape& shape_of_row) {
  if (!is_wanted(place.point, place.layer)) {
    return;
  }
  alone(me, [&] {
    Shape shape = shape_of_row;
    shape.insert(0, batch_);
    visit_rows(hook_, place, rows, shape);
  });
}

}  // namespace headlight
