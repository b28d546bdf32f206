#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/architecture.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/head_layout.h"
#include "headlight/nn/module.h"
#include "headlight/ops/cross_entropy.h"

namespace headlight {

class CausalSelfAttention;

// A head that is one matrix: logits are cap tanh(hidden weight^T / cap), or without a cap the
// product.
struct LinearHead {
  Tensor weight;   // [V, C]
  double cap = 0;  // 0: none
};

// Interface of a language model for training, evaluation, checkpoints, generation and the head
// tools. Gpt implements it; other classes can too, and need only the first three functions.
// Functions that need a Gpt take a Gpt.
class LanguageModel : public Module {
 public:
  virtual Index vocab_size() const = 0;  // V: ids from 0 to V - 1
  virtual Index block_size() const = 0;  // maximum sequence length
  // Returns logits [N, V] of the token after each token of the batch. They may depend only on that
  // token and those before it in its sequence, except in a Gpt with causal = false.
  virtual Tensor logits(const Batch& batch, const ForwardContext& context = {}) const = 0;

  // Returns the mean cross-entropy over the batch's targets, a scalar, with the normalizer and
  // terms of `options`. Throws Error when the batch has no targets.
  virtual Tensor loss(const Batch& batch, const ForwardContext& context = {},
                      const CrossEntropyOptions& options = {}) const;
  // Returns logits [B, V] of the token after each sequence.
  virtual Tensor next_logits(const Batch& batch, const ForwardContext& context = {}) const;
  virtual DType dtype() const { return DType::float32; }  // of the weights
  // Returns false if tokens see later ones too, as in a Gpt with causal = false.
  virtual bool is_causal() const { return true; }
  // Throws Error if the model has no head, so that it predicts no tokens.
  virtual void require_head() const {}
  // Returns true while an attached hook changes every pass.
  virtual bool is_changed() const { return false; }
  // Returns whether several changed passes may run as one; see ForwardHook.
  virtual bool takes_passes_together() const { return true; }
  // Returns the attention heads. Passes must record their attention weights in
  // ForwardContext::recorder and show their outputs to ForwardContext::hook at Point::z, as
  // CausalSelfAttention does. Empty: the head tools refuse the model.
  virtual HeadLayout heads() const { return {}; }
  // Returns the attention of a layer, whose scores and output matrix some head tools read; null if
  // it is another module. They then take the default scores, and refuse what needs the matrix.
  virtual const CausalSelfAttention* attention(Index /*layer*/) const { return nullptr; }
  // Returns the matrices that Muon updates, by their names in parameters(); AdamW updates the rest.
  // Empty: optimizer = muon refuses the model.
  virtual std::vector<HiddenMatrix> hidden_matrices() const { return {}; }
  // Returns the model type in config.json. Other types refuse checkpoints of this class.
  virtual std::string model_type() const { return "custom"; }

  // Parts of a pass. The defaults are those of a model with only logits(), whose pass has no parts:
  // it has no layers, the residual stream is its tokens, and hidden states are its logits.

  // Returns the number of layers, before and after which a pass can be cut.
  virtual Index layer_count() const { return 0; }
  // Returns the residual stream at the input of layer `layer`, [N, C]; layer_count(): after the
  // last one. A Gpt throws as hidden() does, and for a layer that does not exist.
  virtual Tensor residual(const Batch& batch, Index /*layer*/,
                          const ForwardContext& /*context*/ = {}) const {
    return batch.tokens;
  }
  // Runs layers `first` to `last` - 1 on the stream [N, C] before `first`; returns the result.
  virtual Tensor run_layers(Index /*first*/, Index /*last*/, const Tensor& residual,
                            const Batch& /*batch*/, const ForwardContext& /*context*/ = {}) const {
    return residual;
  }
  // Continues from residual(batch, layer) and computes only the layers from `layer` on. The result
  // has the same bits as hidden(batch).
  virtual Tensor hidden_from(Index layer, const Tensor& residual, const Batch& batch,
                             const ForwardContext& context = {}) const;
  // Returns the vectors that the head turns into logits, [N, C].
  virtual Tensor hidden(const Batch& batch, const ForwardContext& context = {}) const {
    return hidden_from(0, residual(batch, 0, context), batch, context);
  }
  // Returns logits [N, V] of hidden states [N, C], which hooks do not see.
  virtual Tensor head_logits(const Tensor& hidden, Precision /*precision*/ = {}) const {
    return hidden;
  }
  // Returns logits [N, V] of hidden states [N, C].
  virtual Tensor logits_of(const Tensor& hidden, const ForwardContext& /*context*/ = {}) const {
    return hidden;
  }
  // Returns the logits of one token minus those of another, [N], of hidden states [N, C].
  virtual Tensor logit_difference(const Tensor& hidden, std::int32_t token,
                                  std::int32_t other) const;
  // Returns the head if it is one matrix with elements, and no hook wants the logits. Losses are
  // then computed without logits. The hook may be null.
  virtual std::optional<LinearHead> linear_head(const ForwardHook* /*hook*/ = nullptr) const {
    return std::nullopt;
  }
  // Returns whether passes take ForwardContext::caches and prefixes.
  virtual bool has_cache() const { return false; }
  // Returns an empty cache; null if the model has none.
  virtual std::shared_ptr<KeyValueCache> new_cache() const { return nullptr; }
};

}  // namespace headlight
