#pragma once

#include <vector>

#include "headlight/nn/forward_hook.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// One recorded pass of a batch through a model. For a Gpt it keeps the input of every layer, so
// passes that differ only from some layer on skip the layers below. Other models run completely.
// Records no gradient. The model must outlive it.
class ForwardReplay {
 public:
  // The hook of the pass may be null.
  ForwardReplay(const LanguageModel& model, Batch batch, ForwardHook* hook = nullptr);

  const Batch& batch() const { return batch_; }
  const Gpt* gpt() const { return gpt_; }  // the model; null for others
  // Copies [copies N, C] of the residual stream of a Gpt at the input of a layer; n_layer: output
  // of the last layer.
  Tensor residual(Index layer, Index copies = 1) const;

  // Final hidden states [N, C] of a Gpt, or logits [N, V] of another model.
  const Tensor& ends() const { return ends_; }
  // Ends with a hook that changes nothing below `layer`; -1: it may change embeddings too.
  Tensor ends(Index layer, ForwardHook& hook) const;
  // As ends(), of a batch with copies of this one, all sequences one after the other; layer from 0.
  Tensor ends_of_copies(Index layer, const Batch& batch, Index copies, ForwardHook& hook) const;
  // Loss of each row of ends, [N]; 0 without a target.
  std::vector<double> token_losses_of(const Tensor& ends, const Tensor& targets) const;
  std::vector<double> token_losses_of(const Tensor& ends) const {
    return token_losses_of(ends, batch_.targets);
  }
  // KL divergence of the prediction of each token with a target from that of ends(), in nats, [N].
  std::vector<double> divergences_of(const Tensor& ends) const;
  // Sums of values [N] over each sequence, [B].
  std::vector<double> sums_of(const std::vector<double>& rows) const;
  // Logits [N, V] of ends [N, C].
  Tensor logits_of(const Tensor& ends) const;
  // Logits [1, V] after token `row` of the batch.
  Tensor logits_of(const Tensor& ends, Index row) const;

 private:
  // Logits [N, V] of a model that is no Gpt.
  Tensor logits_of_all(const Batch& batch, ForwardHook* hook) const;

  const LanguageModel& model_;
  const Gpt* gpt_;  // null for other models
  Batch batch_;
  std::vector<Tensor> residuals_;  // [L + 1] of [N, C]
  Tensor ends_;
};

// Number of targets of each sequence, [B].
std::vector<double> target_counts(const Batch& batch);

}  // namespace headlight
