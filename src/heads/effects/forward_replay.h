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
  // `also` is a second hook for the same pass. May be null.
  ForwardReplay(const LanguageModel& model, Batch batch, ForwardHook* also = nullptr);

  const Batch& batch() const { return batch_; }
  // Residual stream [N, C] of a Gpt at the input of a layer; n_layer: output of the last layer.
  const Tensor& residual(Index layer) const { return residuals_[static_cast<std::size_t>(layer)]; }
  // Outputs of a layer's heads, [N, H D]; see Point::z.
  const Tensor& outputs(Index layer) const { return outputs_[static_cast<std::size_t>(layer)]; }
  // Loss of each sequence, summed over its targets, [B].
  const std::vector<double>& losses() const { return losses_; }
  // Losses [B] with a hook that changes nothing below `layer`; -1: it may change embeddings too.
  std::vector<double> losses(Index layer, ForwardHook& hook) const;
  // Number of targets of each sequence, [B].
  const std::vector<double>& targets() const { return targets_; }
  // Logits [1, V] after token `place` of the batch.
  Tensor logits_after(Index place) const;
  // Logits [V] after the last token of a sequence, optionally with a hook as in losses().
  Tensor last_logits(Index sequence) const;
  Tensor last_logits(Index sequence, Index layer, ForwardHook& hook) const;

 private:
  // Final hidden states [N, C] of a Gpt, or logits [N, V] of another model, under the hook.
  Tensor ends_with(Index layer, ForwardHook& hook) const;
  Tensor logits_of(const Tensor& ends, Index place) const;
  Tensor last_logits_of(const Tensor& ends, Index sequence) const;
  std::vector<double> losses_of(const Tensor& ends) const;

  const LanguageModel& model_;
  const Gpt* gpt_;  // null for other models
  Batch batch_;
  std::vector<Tensor> residuals_;  // [L + 1] of [N, C]
  std::vector<Tensor> outputs_;    // [L] of [N, H D]
  Tensor ends_;                    // see ends_with()
  std::vector<double> losses_;
  std::vector<double> targets_;
};

// Number of targets of each sequence, [B].
std::vector<double> target_counts(const Batch& batch);

}  // namespace headlight
