#pragma once

#include <string>

#include "headlight/nn/architecture.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/head_layout.h"
#include "headlight/nn/module.h"

namespace headlight {

// What training, evaluation, checkpoints, generation and the head tools need of a model that
// continues texts. Gpt is one; a class of your own that says these few things is another. What
// needs a Gpt has one as its parameter.
class LanguageModel : public Module {
 public:
  virtual Index vocab_size() const = 0;  // V: ids from 0 to V - 1
  virtual Index block_size() const = 0;  // the longest sequence that it reads
  // What follows each token of the batch, [N, V]. Must depend on nothing but the token and those
  // before it in its sequence.
  virtual Tensor logits(const Batch& batch, const ForwardContext& context = {}) const = 0;

  // Mean cross-entropy over the targets of the batch, or their sum divided by `normalizer` when
  // that is not 0; a scalar. Throws Error when the batch has no targets.
  virtual Tensor loss(const Batch& batch, const ForwardContext& context = {},
                      Index normalizer = 0) const;
  // What follows the last token of each sequence, [B, V].
  virtual Tensor next_logits(const Batch& batch, const ForwardContext& context = {}) const;
  virtual DType dtype() const { return DType::float32; }  // of its weights
  // True while a hook is attached to the model, which changes what every pass computes.
  virtual bool is_changed() const { return false; }
  // The attention heads whose weights its passes give to ForwardContext::recorder, and whose
  // outputs they give to ForwardContext::hook at Point::z, as MultiHeadAttention does. None: what
  // looks at heads refuses the model.
  virtual HeadLayout heads() const { return {}; }
  // The matrices that Muon updates, by their names in parameters(); everything else is AdamW's.
  // None: optimizer = muon refuses the model.
  virtual std::vector<HiddenMatrix> hidden_matrices() const { return {}; }
  // What config.json calls a model of this class, so that no other reads its checkpoints.
  virtual std::string model_type() const { return "custom"; }
};

}  // namespace headlight
