#include "interpret/circuit/sender_rows.h"

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

// Divisor of a norm for x [N, C], [N, 1].
Tensor scale_of(const LayerNorm& norm, const Tensor& x) {
  const NormPoints points;
  Tensor scale;
  KeepValues keep([&](Point point, Index) { return point == points.scale; },
                  [&](const HookSite&, const Tensor& value) { return scale = value; });
  norm.forward(x, &keep, points);
  return scale;
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

bool KeepSenders::wants(Point point, Index layer) const {
  return point == Point::result || point == Point::mlp_out ||
         (point == Point::resid_pre && layer == 0) ||
         (is_post_norm(model_) && (point == Point::ln1_scale || point == Point::ln2_scale));
}

Tensor KeepSenders::visit(const HookSite& site, const Tensor& value) {
  const NoGrad no_grad;
  const auto put = [&](Index first, const Tensor& rows) {
    const Index length = written.rows.size(1);
    const Index count = rows.numel() / length;
    slice(written.rows, 0, first, first + count).copy_from(reshape(rows, {count, length}));
  };
  switch (site.point) {
    case Point::resid_pre:
      written.rows = Tensor::zeros({std::ssize(graph_.senders()), value.numel()}, value.dtype());
      put(0, value);
      break;
    case Point::result:
      put(graph_.head_sender(site.layer), head_rows(model_, site.layer, value));
      break;
    case Point::mlp_out:
      put(graph_.mlp_sender(site.layer), value);
      break;
    default:
      written.scales[{site.point, site.layer}] = to_contiguous(value).clone();
  }
  return value;
}

SenderChange::SenderChange(const Gpt& model, const CircuitGraph& graph, const SenderRows& other,
                           Index reads)
    : model_(model),
      graph_(graph),
      other_scales_(other.scales),
      reads_(reads),
      other_(is_post_norm(model) ? other.rows.clone() : other.rows),
      change_(Tensor::zeros({other.rows.size(0), reads * other.rows.size(1)}, other.rows.dtype())) {
}

Tensor SenderChange::difference(const Tensor& rows, Index first) const {
  const Index length = other_.size(1);
  const Index count = rows.numel() / (reads_ * length);
  return reshape(rows, {count, reads_, length}) -
         reshape(slice(other_, 0, first, first + count), {count, 1, length});
}

void SenderChange::write(Index first, const Tensor& rows) {
  const NoGrad no_grad;
  const Tensor changed = difference(rows, first);
  slice(change_, 0, first, first + changed.size(0))
      .copy_from(reshape(changed, {changed.size(0), change_.size(1)}));
}

void SenderChange::pass_norm(Branch branch, Index layer, const Tensor& scale) {
  const NoGrad no_grad;
  Tensor now = reshape(reshape(change_, {change_.size(0), reads_, other_.size(1)}) +
                           reshape(other_, {change_.size(0), 1, other_.size(1)}),
                       change_.shape());
  divide(now, branch, layer, scale);
  divide(other_, branch, layer, other_scales_.at({post_norm_scale(branch), layer}));
  change_ = reshape(difference(now, 0), change_.shape());
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
