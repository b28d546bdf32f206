#include "heads/effects/forward_replay.h"

#include <algorithm>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"

namespace headlight {
namespace {

class KeepOutputs final : public ForwardHook {
 public:
  bool wants(Point point, Index) const override { return point == Point::z; }
  Tensor visit(const Place&, const Tensor& z) override {
    kept = reshape(z, {z.size(0), z.size(1) * z.size(2)});
    return z;
  }

  Tensor kept;
};

}  // namespace

ForwardReplay::ForwardReplay(const Gpt& model, Batch batch)
    : model_(model), batch_(std::move(batch)) {
  const NoGrad no_grad;
  KeepOutputs hook;
  ForwardContext context;
  context.hook = &hook;
  Tensor x = model.residual(batch_, 0);
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    residuals_.push_back(x);
    x = model.block(layer).forward(x, batch_.offsets, context);
    outputs_.push_back(hook.kept);
  }
  residuals_.push_back(x);
  hidden_ = model.hidden_from(model.config().n_layer, x, batch_.offsets);
  if (batch_.targets.defined()) {
    losses_ = losses_of(hidden_);
    targets_ = target_counts(batch_);
  }
}

std::vector<double> ForwardReplay::losses(Index layer, ForwardHook& hook) const {
  return losses_of(hidden_with(layer, hook));
}

Tensor ForwardReplay::logits_after(Index place) const {
  const NoGrad no_grad;
  return linear(slice(hidden_, 0, place, place + 1), model_.head_weight());
}

Tensor ForwardReplay::last_logits(Index sequence) const {
  return last_logits_of(hidden_, sequence);
}

Tensor ForwardReplay::last_logits(Index sequence, Index layer, ForwardHook& hook) const {
  return last_logits_of(hidden_with(layer, hook), sequence);
}

Tensor ForwardReplay::hidden_with(Index layer, ForwardHook& hook) const {
  const NoGrad no_grad;
  ForwardContext context;
  context.hook = &hook;
  return model_.hidden_from(layer, residual(layer), batch_.offsets, context);
}

std::vector<double> ForwardReplay::losses_of(const Tensor& hidden) const {
  const Tensor rows = linear_cross_entropy_rows(hidden, model_.head_weight(), batch_.targets,
                                                {.ignore_index = kIgnoreTarget});  // [N]
  std::vector<double> sums;
  for (Index b = 0; b < batch_.sequence_count(); ++b) {
    const auto place = static_cast<std::size_t>(b);
    double sum = 0;
    for (Index n = batch_.offsets[place]; n < batch_.offsets[place + 1]; ++n) {
      sum += rows.data<double>()[n];
    }
    sums.push_back(sum);
  }
  return sums;
}

Tensor ForwardReplay::last_logits_of(const Tensor& hidden, Index sequence) const {
  const NoGrad no_grad;
  const Index end = batch_.offsets[static_cast<std::size_t>(sequence) + 1];
  return reshape(linear(slice(hidden, 0, end - 1, end), model_.head_weight()),
                 {model_.config().vocab_size});
}

std::vector<double> target_counts(const Batch& batch) {
  const std::int32_t* targets = batch.targets.data<std::int32_t>();
  std::vector<double> counts;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    const auto ignored =
        std::count(targets + batch.offsets[b], targets + batch.offsets[b + 1], kIgnoreTarget);
    counts.push_back(static_cast<double>(batch.offsets[b + 1] - batch.offsets[b] - ignored));
  }
  return counts;
}

}  // namespace headlight
