#include "generate/decoder_step.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/loops.h"

namespace headlight {
namespace {

using kernels::kPanelRows;
using kernels::TeamMember;

// Multiply-adds between two meetings that are worth a thread of their own: about what a thread
// computes in the time of a meeting, ten times over.
constexpr Index kWorkOfThread = 16384;

// Sixteen values at a time, so that the share of a thread cannot change how they are computed.
void activate_panel(Activation activation, float* x) {
  switch (activation) {
    case Activation::gelu_tanh:
      kernels::loops<float>().gelu(x, x, kPanelRows);
      return;
    case Activation::gelu_erf:
      for (Index i = 0; i < kPanelRows; ++i) {
        x[i] = 0.5F * x[i] * (1.0F + std::erf(x[i] * std::numbers::sqrt2_v<float> / 2));
      }
      return;
    case Activation::relu:
      break;
  }
  for (Index i = 0; i < kPanelRows; ++i) {
    x[i] = x[i] < 0 ? 0.0F : x[i];  // NaN stays
  }
}

Index padded(Index length) { return kernels::panel_count(length) * kPanelRows; }

}  // namespace

Index step_threads(const DecoderModel& model, Index batch) {
  Index work = model.head.rows() * model.width;
  for (const DecoderLayer& layer : model.layers) {
    for (const PackedMatrix* matrix :
         {&layer.attention_in, &layer.attention_out, &layer.mlp_in, &layer.mlp_out}) {
      work += matrix->rows() * matrix->columns();
    }
  }
  const Index meetings_of_layer = model.gpt->config().mlp ? 4 : 2;
  const auto meetings = meetings_of_layer * static_cast<Index>(model.layers.size()) + 1;
  return std::clamp<Index>(work * batch / meetings / kWorkOfThread, 1, kernels::max_threads());
}

StepVectors StepWorkspace::make(Index batch, Index length) {
  memory_.push_back(Tensor::zeros({batch, padded(length)}));
  return {memory_.back().data<float>(), padded(length)};
}

StepWorkspace::StepWorkspace(const DecoderModel& model, Index batch, Index threads)
    : batch_(batch), threads_(threads) {
  Index heads = 1;
  for (const DecoderLayer& layer : model.layers) {
    heads = std::max(heads, layer.heads);
  }
  stream = make(batch, model.width);
  projected = make(batch, model.width);
  qkv = make(batch, 3 * heads * model.head_width);
  attended = make(batch, heads * model.head_width);
  inner = make(batch, model.layers[0].mlp_in.rows());
  logits = make(batch, model.head.rows());
  normalized_ = make(threads * batch, model.width);
  scores_ = make(threads, model.position_embedding.size(0));
}

StepVectors StepWorkspace::normalized(Index thread) const {
  return {normalized_.of(thread * batch_), normalized_.stride};
}

float* StepWorkspace::scores(Index thread) const { return scores_.of(thread); }

DecoderStep::DecoderStep(const DecoderModel& model, std::span<const DecodeItem> items,
                         const StepWorkspace& workspace)
    : model_(model),
      items_(items),
      work_(workspace),
      batch_(static_cast<Index>(items.size())),
      pre_norm_(model.gpt->config().norm == NormPosition::pre) {}

void DecoderStep::run(const TeamMember& me) const {
  if (!pre_norm_) {
    for (Index b = 0; b < batch_; ++b) {
      std::copy_n(work_.stream.of(b), model_.width, work_.normalized(me.index).of(b));
    }
  }
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    const DecoderLayer& layer = model_.layers[i];
    if (pre_norm_) {
      normalize(me, layer.ln_1);
    }
    attend(me, i);
    me.barrier();
    add(me, layer.attention_out, work_.attended);
    me.barrier();
    if (!pre_norm_) {
      normalize(me, layer.ln_1);
    }
    if (layer.has_mlp()) {
      feed_forward(me, layer);
    }
  }
  if (pre_norm_) {
    normalize(me, model_.ln_f);
  }
  const PackedMatrix& head = model_.head;
  head.multiply(me.share_begin(head.panels()), me.share_end(head.panels()), batch_,
                work_.normalized(me.index), work_.logits);
}

void DecoderStep::run_head(const TeamMember& me) const {
  const PackedMatrix& head = model_.head;
  head.multiply(me.share_begin(head.panels()), me.share_end(head.panels()), 1, work_.normalized(0),
                work_.logits);
}

void DecoderStep::normalize(const TeamMember& me, const NormWeights& norm) const {
  const auto epsilon = static_cast<float>(model_.gpt->config().layer_norm_epsilon);
  const StepVectors normalized = work_.normalized(me.index);
  for (Index b = 0; b < batch_; ++b) {
    float mean = 0;
    float inverse_deviation = 0;
    kernels::loops<float>().layer_norm(work_.stream.of(b), norm.gain.data<float>(),
                                       norm.shift.data<float>(), normalized.of(b), model_.width,
                                       epsilon, &mean, &inverse_deviation);
  }
}

void DecoderStep::feed_forward(const TeamMember& me, const DecoderLayer& layer) const {
  if (pre_norm_) {
    normalize(me, layer.ln_2);
  }
  expand(me, layer.mlp_in);
  me.barrier();
  add(me, layer.mlp_out, work_.inner);
  me.barrier();
  if (!pre_norm_) {
    normalize(me, layer.ln_2);
  }
}

// When the members can share the heads evenly, each computes query, key and value of its own heads
// and needs nobody else's.
void DecoderStep::attend(const TeamMember& me, std::size_t layer) const {
  const Index heads = model_.layers[layer].heads;
  project_qkv(me, model_.layers[layer]);
  if (heads % me.size == 0 && model_.head_width % kPanelRows == 0) {
    for (Index b = 0; b < batch_; ++b) {
      for (Index head = me.share_begin(heads); head < me.share_end(heads); ++head) {
        attend_head(me, layer, b, head);
      }
    }
    return;
  }
  me.barrier();
  for (Index i = me.share_begin(batch_ * heads); i < me.share_end(batch_ * heads); ++i) {
    attend_head(me, layer, i / heads, i % heads);
  }
}

void DecoderStep::project_qkv(const TeamMember& me, const DecoderLayer& layer) const {
  const PackedMatrix& matrix = layer.attention_in;
  const StepVectors normalized = work_.normalized(me.index);
  if (layer.heads % me.size != 0 || model_.head_width % kPanelRows != 0) {
    matrix.multiply(me.share_begin(matrix.panels()), me.share_end(matrix.panels()), batch_,
                    normalized, work_.qkv);
    return;
  }
  const Index panels = matrix.panels() / 3;
  for (Index part = 0; part < 3; ++part) {
    const Index first = part * panels;
    matrix.multiply(first + me.share_begin(panels), first + me.share_end(panels), batch_,
                    normalized, work_.qkv);
  }
}

void DecoderStep::attend_head(const TeamMember& me, std::size_t layer, Index item,
                              Index head) const {
  const Index width = model_.head_width;
  const Index inner = model_.layers[layer].heads * width;  // H D
  KeyValueCache& cache = *items_[static_cast<std::size_t>(item)].cache;
  KeyValueCache::Layer& kept = cache.layers[layer];
  float* keys = kept.keys.data<float>() + head * kept.keys.strides()[0];
  float* values = kept.values.data<float>() + head * kept.values.strides()[0];
  const float* query = work_.qkv.of(item) + head * width;
  std::copy_n(query + inner, width, keys + cache.length * width);
  std::copy_n(query + 2 * inner, width, values + cache.length * width);
  kernels::decode_loops().attend(
      {.query = query,
       .keys = keys,
       .values = values,
       .length = cache.length + 1,
       .width = width,
       .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(width))),
       .scores = work_.scores(me.index),
       .output = work_.attended.of(item) + head * width});
}

// This member's rows of stream = residual + matrix x. After a post-norm the residual is the
// normalised stream, of which every member has a copy.
void DecoderStep::add(const TeamMember& me, const PackedMatrix& matrix,
                      const StepVectors& x) const {
  const Index begin = me.share_begin(matrix.panels());
  const Index end = me.share_end(matrix.panels());
  matrix.multiply(begin, end, batch_, x, work_.projected);
  const StepVectors residual = pre_norm_ ? work_.stream : work_.normalized(me.index);
  const Index row = begin * kPanelRows;
  for (Index b = 0; b < batch_; ++b) {
    kernels::loops<float>().add(residual.of(b) + row, work_.projected.of(b) + row,
                                work_.stream.of(b) + row, (end - begin) * kPanelRows);
  }
}

// This member's rows of inner = activation(matrix normalized).
void DecoderStep::expand(const TeamMember& me, const PackedMatrix& matrix) const {
  const Index begin = me.share_begin(matrix.panels());
  const Index end = me.share_end(matrix.panels());
  matrix.multiply(begin, end, batch_, work_.normalized(me.index), work_.inner);
  for (Index b = 0; b < batch_; ++b) {
    for (Index panel = begin; panel < end; ++panel) {
      activate_panel(model_.gpt->config().activation, work_.inner.of(b) + panel * kPanelRows);
    }
  }
}

}  // namespace headlight
