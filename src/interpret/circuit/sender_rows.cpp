#include "interpret/circuit/sender_rows.h"

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"

namespace headlight {
namespace {

// Divisor of a norm for x [N, C], [N, 1].
Tensor scale_of(const LayerNorm& norm, const Tensor& x) {
  const NormPoints points;
  KeepValues keep([&](Point point, Index) { return point == points.scale; });
  norm.forward(x, &keep, points);
  return keep.values.at({points.scale, points.layer});
}

// Applies a norm with divisor `scale` to parts [S, N, C] of its input, without the shift.
Tensor divided(const LayerNorm& norm, const Tensor& parts, const Tensor& scale) {
  const NormParameters parameters = norm.norm();
  const Tensor centred = parameters.kind == NormKind::layer
                             ? parts - mean(parts, {.axes = {-1}, .keepdim = true})
                             : parts;
  const Tensor result = centred / scale;
  if (!parameters.gain.defined()) {
    return result;
  }
  return result * (parameters.gain_plus_one ? parameters.gain + 1 : parameters.gain);
}

bool is_post_norm(const Gpt& model) { return model.config().norm == NormPosition::post; }

}  // namespace

Tensor head_rows(const Gpt& model, Index layer, const Tensor& result) {
  const Tensor rows = to_contiguous(transpose(result, 0, 1));
  const LayerNorm* norm = model.block(layer).output_norm(Branch::attention);
  if (norm == nullptr && !is_post_norm(model)) {
    return rows;
  }
  const Tensor bias = model.bias(Part::attention_output, layer);
  const Tensor shares = bias.defined() ? rows + bias / static_cast<double>(rows.size(0)) : rows;
  return norm == nullptr ? shares
                         : divided(*norm, shares, scale_of(*norm, sum(shares, {.axes = {0}})));
}

SenderRows sender_rows(const Gpt& model, const CircuitGraph& graph, const Batch& text) {
  const NoGrad no_grad;
  const bool is_post = is_post_norm(model);
  const PointValues values = values_of(model, text, [&](Point point, Index layer) {
    return point == Point::result || point == Point::mlp_out ||
           (point == Point::resid_pre && layer == 0) ||
           (is_post && (point == Point::ln1_scale || point == Point::ln2_scale));
  });
  const Tensor& embedding = values.at({Point::resid_pre, 0});  // [N, C]
  const Index length = embedding.numel();
  SenderRows written{Tensor::zeros({std::ssize(graph.senders()), length}, embedding.dtype()), {}};
  const auto put = [&](Index first, const Tensor& rows) {
    const Index count = rows.numel() / length;
    slice(written.rows, 0, first, first + count).copy_from(reshape(rows, {count, length}));
  };
  for (const auto& [spot, value] : values) {
    const auto& [point, layer] = spot;
    if (point == Point::ln1_scale || point == Point::ln2_scale) {
      written.scales[spot] = value;
    } else if (point == Point::result) {
      put(graph.head_sender(layer), head_rows(model, layer, value));
    } else {
      put(point == Point::mlp_out ? graph.mlp_sender(layer) : 0, value);
    }
  }
  return written;
}

SenderChange::SenderChange(const Gpt& model, const CircuitGraph& graph, const SenderRows& other)
    : model_(model),
      graph_(graph),
      other_scales_(other.scales),
      other_(is_post_norm(model) ? other.rows.clone() : other.rows),
      change_(Tensor::zeros(other.rows.shape(), other.rows.dtype())) {}

void SenderChange::write(Index first, const Tensor& rows) {
  const NoGrad no_grad;
  const Index length = other_.size(1);
  const Index count = rows.numel() / length;
  slice(change_, 0, first, first + count)
      .copy_from(reshape(rows, {count, length}) - slice(other_, 0, first, first + count));
}

void SenderChange::pass_norm(Branch branch, Index layer, const Tensor& scale) {
  const NoGrad no_grad;
  Tensor now = change_ + other_;
  divide(now, branch, layer, scale);
  divide(other_, branch, layer, other_scales_.at({post_norm_scale(branch), layer}));
  change_ = now - other_;
}

void SenderChange::divide(Tensor& rows, Branch branch, Index layer, const Tensor& scale) const {
  const bool is_attention = branch == Branch::attention;
  const Index first = is_attention ? graph_.head_sender(layer) : graph_.mlp_sender(layer);
  const Index count = is_attention ? model_.heads().count(layer) : 1;
  const Index width = model_.config().n_embd;
  const Index tokens = rows.size(1) / width;
  const auto of_senders = [&](Index begin, Index senders) {
    return rows.strided_view({senders, tokens, width}, {tokens * width, width, 1},
                             begin * tokens * width);
  };
  const LayerNorm& norm = model_.block(layer).norm(branch);
  Tensor written = of_senders(0, first + count);
  written.copy_from(divided(norm, written, scale));
  if (norm.bias.defined()) {
    Tensor own = of_senders(first, count);
    own.copy_from(own + norm.bias / static_cast<double>(count));
  }
}

}  // namespace headlight
