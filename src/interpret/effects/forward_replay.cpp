#include "interpret/effects/forward_replay.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "interpret/effects/token_losses.h"

namespace headlight {

ForwardReplay::ForwardReplay(const LanguageModel& model, Batch batch, ForwardHook* hook)
    : model_(model), gpt_(dynamic_cast<const Gpt*>(&model)), batch_(std::move(batch)) {
  const NoGrad no_grad;
  const ForwardContext context{.hook = hook};
  if (gpt_ == nullptr) {
    ends_ = logits_of_all(batch_, hook);
  } else {
    residuals_.push_back(gpt_->residual(batch_, 0));
    for (Index layer = 0; layer < gpt_->config().n_layer; ++layer) {
      residuals_.push_back(gpt_->run_layers(layer, layer + 1, residuals_.back(), batch_, context));
    }
    ends_ = gpt_->hidden_from(gpt_->config().n_layer, residuals_.back(), batch_);
  }
}

Tensor ForwardReplay::logits_of_all(const Batch& batch, ForwardHook* hook) const {
  if (hook != nullptr) {
    hook->begin(batch);  // a model of the user may not call it
  }
  return model_.logits(batch, {.hook = hook});
}

Tensor ForwardReplay::ends(Index layer, ForwardHook& hook) const {
  if (layer >= 0 || gpt_ == nullptr) {
    return ends_of_copies(layer, batch_, 1, hook);
  }
  const NoGrad no_grad;
  return gpt_->hidden(batch_, {.hook = &hook});
}

Tensor ForwardReplay::residual(Index layer, Index copies) const {
  const Tensor& one = residuals_[static_cast<std::size_t>(layer)];  // [N, C]
  if (copies == 1) {
    return one;
  }
  const Index rows = one.size(0);
  const Index width = one.size(1);
  return reshape(expand(reshape(one, {1, rows, width}), {copies, rows, width}),
                 {copies * rows, width});
}

Tensor ForwardReplay::ends_of_copies(Index layer, const Batch& batch, Index copies,
                                     ForwardHook& hook) const {
  const NoGrad no_grad;
  return gpt_ == nullptr
             ? logits_of_all(batch, &hook)
             : gpt_->hidden_from(layer, residual(layer, copies), batch, {.hook = &hook});
}

Tensor ForwardReplay::logits_of(const Tensor& ends) const {
  const NoGrad no_grad;
  return gpt_ == nullptr ? ends : gpt_->head_logits(ends);
}

Tensor ForwardReplay::logits_of(const Tensor& ends, Index row) const {
  return logits_of(slice(ends, 0, row, row + 1));
}

std::vector<double> ForwardReplay::token_losses_of(const Tensor& ends,
                                                   const Tensor& targets) const {
  return gpt_ == nullptr ? losses_of_rows(ends, targets) : token_losses(*gpt_, ends, targets);
}

std::vector<double> ForwardReplay::divergences_of(const Tensor& ends) const {
  constexpr Index kRows = 256;  // all logits may exceed memory
  std::vector<double> divergences;
  for (Index first = 0; first < ends.size(0); first += kRows) {
    const Index last = std::min(first + kRows, ends.size(0));
    const std::vector<double> rows = divergences_of_rows(logits_of(slice(ends_, 0, first, last)),
                                                         logits_of(slice(ends, 0, first, last)),
                                                         slice(batch_.targets, 0, first, last));
    divergences.insert(divergences.end(), rows.begin(), rows.end());
  }
  return divergences;
}

std::vector<double> ForwardReplay::sums_of(const std::vector<double>& rows) const {
  std::vector<double> sums;
  for (std::size_t b = 0; b + 1 < batch_.offsets.size(); ++b) {
    sums.push_back(std::accumulate(rows.begin() + batch_.offsets[b],
                                   rows.begin() + batch_.offsets[b + 1], 0.0));
  }
  return sums;
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
