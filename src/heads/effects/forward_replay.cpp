#include "heads/effects/forward_replay.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/token_distribution.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "heads/point_values.h"

namespace headlight {
namespace {

// -log p(target) of each row of logits [N, V], in nats; 0 without a target.
std::vector<double> losses_of_rows(const Tensor& logits, const Tensor& targets) {
  const Tensor rows = to_contiguous(convert(logits, DType::float32));
  const auto vocabulary = static_cast<std::size_t>(rows.size(1));
  std::vector<double> losses(static_cast<std::size_t>(rows.size(0)));
  for (std::size_t row = 0; row < losses.size(); ++row) {
    const std::int32_t target = targets.data<std::int32_t>()[row];
    if (target != kIgnoreTarget) {
      const TokenDistribution expected({rows.data<float>() + row * vocabulary, vocabulary});
      losses[row] = -expected.log_probability(target);
    }
  }
  return losses;
}

// losses_of_rows() from hidden states [N, C] of a Gpt whose head has a bias. Only rows with a
// target become logits: all of them may exceed memory.
std::vector<double> losses_with_bias(const Gpt& model, const Tensor& hidden,
                                     const Tensor& targets) {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> wanted;
  for (Index row = 0; row < targets.numel(); ++row) {
    if (const std::int32_t target = targets.data<std::int32_t>()[row]; target != kIgnoreTarget) {
      rows.push_back(static_cast<std::int32_t>(row));
      wanted.push_back(target);
    }
  }
  std::vector<double> losses(static_cast<std::size_t>(targets.numel()));
  if (!rows.empty()) {
    const Shape count{std::ssize(rows)};
    const Tensor logits = linear(embedding(hidden, Tensor::from(rows, count)), model.head_weight(),
                                 model.head_bias());
    const std::vector<double> some = losses_of_rows(logits, Tensor::from(wanted, count));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      losses[static_cast<std::size_t>(rows[i])] = some[i];
    }
  }
  return losses;
}

}  // namespace

ForwardReplay::ForwardReplay(const LanguageModel& model, Batch batch, ForwardHook* also)
    : model_(model), gpt_(dynamic_cast<const Gpt*>(&model)), batch_(std::move(batch)) {
  const NoGrad no_grad;
  KeepValues outputs([](Point point, Index) { return point == Point::z; });
  HookPair hook(&outputs, also);
  const ForwardContext context{.hook = hook.get()};
  if (gpt_ == nullptr) {
    ends_ = model.logits(batch_, context);
  } else {
    residuals_.push_back(gpt_->residual(batch_, 0));
    for (Index layer = 0; layer < gpt_->config().n_layer; ++layer) {
      residuals_.push_back(gpt_->run_layers(layer, layer + 1, residuals_.back(), batch_, context));
    }
    ends_ = gpt_->hidden_from(gpt_->config().n_layer, residuals_.back(), batch_);
  }
  for (Index layer = 0; layer < model.heads().layers(); ++layer) {
    const auto found = outputs.values.find({Point::z, layer});
    require(found != outputs.values.end(), "a model of type '", model.model_type(),
            "' does not pass to ForwardHook the outputs of the heads of layer ", layer);
    const Tensor& z = found->second;
    outputs_.push_back(reshape(z, {z.size(0), z.size(1) * z.size(2)}));
  }
}

Tensor ForwardReplay::ends(Index layer, ForwardHook& hook) const {
  const NoGrad no_grad;
  const ForwardContext context{.hook = &hook};
  if (gpt_ == nullptr) {
    return model_.logits(batch_, context);
  }
  return layer < 0 ? gpt_->hidden(batch_, context)
                   : gpt_->hidden_from(layer, residual(layer), batch_, context);
}

Tensor ForwardReplay::logits_of(const Tensor& ends, Index place) const {
  const NoGrad no_grad;
  const Tensor row = slice(ends, 0, place, place + 1);
  return gpt_ == nullptr ? row : linear(row, gpt_->head_weight(), gpt_->head_bias());
}

std::vector<double> ForwardReplay::losses_of(const Tensor& ends) const {
  const std::vector<double> rows =
      gpt_ == nullptr ? losses_of_rows(ends, batch_.targets)
      : gpt_->head_bias().defined()
          ? losses_with_bias(*gpt_, ends, batch_.targets)
          : linear_cross_entropy_rows(ends, gpt_->head_weight(), batch_.targets,
                                      {.ignore_index = kIgnoreTarget})
                .to_vector();
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
