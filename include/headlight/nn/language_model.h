#pragma once

#include <string>

#include "headlight/nn/architecture.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/head_layout.h"
#include "headlight/nn/module.h"

namespace headlight {

// Interface of a language model for training, evaluation, checkpoints, generation and the head
// tools. Gpt implements it; other classes can too. Functions that need a Gpt take a Gpt.
class LanguageModel : public Module {
 public:
  virtual Index vocab_size() const = 0;  // V: ids from 0 to V - 1
  virtual Index block_size() const = 0;  // maximum sequence length
  // Returns logits [N, V] of the token after each token of the batch. They may depend only on that
  // token and those before it in its sequence, except in a Gpt with causal = false.
  virtual Tensor logits(const Batch& batch, const ForwardContext& context = {}) const = 0;

  // Returns the mean cross-entropy over the batch's targets, or their sum divided by `normalizer`
  // when that is not 0; a scalar. Throws Error when the batch has no targets.
  virtual Tensor loss(const Batch& batch, const ForwardContext& context = {},
                      Index normalizer = 0) const;
  // Returns logits [B, V] of the token after each sequence.
  virtual Tensor next_logits(const Batch& batch, const ForwardContext& context = {}) const;
  virtual DType dtype() const { return DType::float32; }  // of the weights
  // Returns true while an attached hook changes every pass.
  virtual bool is_changed() const { return false; }
  // Returns the attention heads. Passes must record their attention weights in
  // ForwardContext::recorder and show their outputs to ForwardContext::hook at Point::z, as
  // CausalSelfAttention does. Empty: the head tools refuse the model.
  virtual HeadLayout heads() const { return {}; }
  // Returns the matrices that Muon updates, by their names in parameters(); AdamW updates the rest.
  // Empty: optimizer = muon refuses the model.
  virtual std::vector<HiddenMatrix> hidden_matrices() const { return {}; }
  // Returns the model type in config.json. Other types refuse checkpoints of this class.
  virtual std::string model_type() const { return "custom"; }
};

}  // namespace headlight
