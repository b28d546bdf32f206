#pragma once

#include <vector>

#include "headlight/nn/forward_hook.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// One batch through a model, keeping what every layer of a Gpt began with, so that a pass that
// differs from some layer on need not compute the layers below again; another model computes them.
// Records no gradient. The model must outlive it.
class ForwardReplay {
 public:
  // `also` sees what its hook sees, in the same pass.
  ForwardReplay(const LanguageModel& model, Batch batch, ForwardHook* also = nullptr);

  const Batch& batch() const { return batch_; }
  // Of a Gpt: the residual stream as it enters a layer, [N, C]; n_layer: as it leaves the last one.
  const Tensor& residual(Index layer) const { return residuals_[static_cast<std::size_t>(layer)]; }
  // The heads' outputs of a layer, [N, H D]; see Point::z.
  const Tensor& outputs(Index layer) const { return outputs_[static_cast<std::size_t>(layer)]; }
  // Sum of the losses of each sequence's targets, [B].
  const std::vector<double>& losses() const { return losses_; }
  // The same with a hook that changes nothing below `layer`; -1: it changes embeddings, too.
  std::vector<double> losses(Index layer, ForwardHook& hook) const;
  // Targets of each sequence, [B].
  const std::vector<double>& targets() const { return targets_; }
  // The logits [1, V] that follow token `place` of the batch.
  Tensor logits_after(Index place) const;
  // The logits [V] that follow the last token of a sequence, with a hook as above.
  Tensor last_logits(Index sequence) const;
  Tensor last_logits(Index sequence, Index layer, ForwardHook& hook) const;

 private:
  // What the last logits are made of: hidden states [N, C] of a Gpt, the logits [N, V] of another.
  Tensor ends_with(Index layer, ForwardHook& hook) const;
  Tensor logits_of(const Tensor& ends, Index place) const;
  Tensor last_logits_of(const Tensor& ends, Index sequence) const;
  std::vector<double> losses_of(const Tensor& ends) const;

  const LanguageModel& model_;
  const Gpt* gpt_;  // the model, if it is one
  Batch batch_;
  std::vector<Tensor> residuals_;  // [L + 1] of [N, C]
  std::vector<Tensor> outputs_;    // [L] of [N, H D]
  Tensor ends_;                    // see ends_with
  std::vector<double> losses_;
  std::vector<double> targets_;
};

// How many tokens of each sequence have a target, [B].
std::vector<double> target_counts(const Batch& batch);

}  // namespace headlight
