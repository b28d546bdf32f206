#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "headlight/nn/architecture.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/key_value_cache.h"
#include "headlight/nn/language_model.h"
#include "headlight/nn/multi_head_attention.h"

namespace headlight {

enum class Branch { attention, mlp };

// One layer: attention and MLP, each on a residual path. Parts: ln_1, attn, ln_1_out, ln_2, mlp,
// ln_2_out; the last three only with config.mlp, ln_2 not with config.shared_norm, ln_1_out and
// ln_2_out with config.output_norms.
class Block : public Module {
 public:
  // With `zeros` matrices and biases are zeros, to be overwritten.
  Block(const GptConfig& config, Index layer, DType dtype, const RandomStream& random,
        bool zeros = false);

  // x [N, C] -> [N, C], the sequences of a batch laid end to end.
  Tensor forward(const Tensor& x, const std::vector<Index>& offsets,
                 const ForwardContext& context) const;

  const MultiHeadAttention& attention() const { return attn_; }
  // In front of a branch, or behind it in a post-norm.
  const LayerNorm& norm(Branch branch) const {
    return branch == Branch::attention || plan_.shared_norm ? ln_1_ : *ln_2_;
  }
  // Behind a branch with config.output_norms; else null.
  const LayerNorm* output_norm(Branch branch) const {
    const std::optional<LayerNorm>& norm = branch == Branch::attention ? ln_1_out_ : ln_2_out_;
    return norm ? &*norm : nullptr;
  }
  const Mlp& mlp() const { return *mlp_; }  // of a layer that has one

 private:
  class Pass;

  BlockPlan plan_;
  Index layer_;
  LayerNorm ln_1_;
  MultiHeadAttention attn_;
  std::optional<LayerNorm> ln_1_out_;
  std::optional<LayerNorm> ln_2_;
  std::optional<Mlp> mlp_;
  std::optional<LayerNorm> ln_2_out_;
  Dropout attention_dropout_;  // on what attention adds
  Dropout mlp_dropout_;        // on what the MLP adds
};

// A weight with its values, which are shared with the model.
struct ModelWeight {
  Weight weight;
  Tensor tensor;
};

// A decoder-only transformer: by default GPT-2 (Radford et al., "Language Models are Unsupervised
// Multitask Learners", 2019), by other keys of GptConfig one of the later families. Parameter names
// are those of Hugging Face's GPT-2 without the "transformer." prefix.
class Gpt : public LanguageModel {
 public:
  // Weights start as GPT-2's: N(0, 0.02), projections onto the residual stream N(0, 0.02 / sqrt(2
  // L)), biases 0. Throws Error when the configuration does not validate.
  explicit Gpt(const GptConfig& config, std::uint64_t seed = 1337, DType dtype = DType::float32);

  // A model whose matrices are zeros, to be filled from a file: the random start takes longer than
  // the reading.
  static std::unique_ptr<Gpt> blank(const GptConfig& config, DType dtype = DType::float32);

  // The residual stream after the last norm, [N, C]. With context.caches the batch continues other
  // sequences; its positions must say so, see continue_sequences(). Throws Error for a sequence
  // longer than the block, for ids outside the vocabulary, and for caches of another model.
  Tensor hidden(const Batch& batch, const ForwardContext& context = {}) const;
  // The residual stream as it enters block `layer`, [N, C]; n_layer: as it leaves the last one.
  // Throws as hidden() does, and for a layer that does not exist.
  Tensor residual(const Batch& batch, Index layer, const ForwardContext& context = {}) const;
  // What follows residual(batch, layer): the same bits as hidden(batch), at the cost of the layers
  // from `layer` on.
  Tensor hidden_from(Index layer, const Tensor& residual, const Batch& batch,
                     const ForwardContext& context = {}) const;
  // The residual stream [N, C] as it leaves layer `last` - 1, of that which enters layer `first`.
  Tensor run_layers(Index first, Index last, const Tensor& residual, const Batch& batch,
                    const ForwardContext& context = {}) const;
  // [N, V] of hidden states [N, C].
  Tensor logits_of(const Tensor& hidden, const ForwardContext& context = {}) const;
  Tensor logits(const Batch& batch, const ForwardContext& context = {}) const override;
  Tensor loss(const Batch& batch, const ForwardContext& context = {},
              Index normalizer = 0) const override;
  Tensor next_logits(const Batch& batch, const ForwardContext& context = {}) const override;

  // A hook for every pass from now on, before the one of its context, also of a Decoder; null
  // takes it off. It makes this another model, for whatever looks at it: an intervention.
  void attach(std::shared_ptr<ForwardHook> hook) { attached_ = std::move(hook); }
  ForwardHook* attached() const { return attached_.get(); }
  bool is_changed() const override { return attached_ != nullptr; }

  // What is called behind every layer of a pass from now on, with the rows that the layer has read;
  // a Decoder does not call it. It may run other passes and change attach() and this meanwhile, if
  // it puts back what there was: a place to let others compute.
  void call_after_layers(std::function<void(Index rows)> call) { after_layer_ = std::move(call); }

  // For ForwardContext::caches and Decoder.
  KeyValueCache make_cache() const { return KeyValueCache(config_, dtype_); }
  // Throws Error when the sequence of the cache cannot take `count` more tokens, or the cache is
  // another model's.
  void check_cache(const KeyValueCache& cache, Index count) const;

  Index vocab_size() const override { return config_.vocab_size; }
  Index block_size() const override { return config_.block_size; }
  DType dtype() const override { return dtype_; }
  HeadLayout heads() const override { return config_.head_layout(); }
  std::vector<HiddenMatrix> hidden_matrices() const override { return hidden_matrices_of(config_); }
  std::string model_type() const override { return "gpt2"; }

  const GptConfig& config() const { return config_; }
  // Those of weights_of(config()), in its order.
  const std::vector<ModelWeight>& weights() const { return weights_; }
  // The weight or bias of a part; undefined when the model has none.
  Tensor weight(Part part, Index layer = kNoLayer) const { return find(part, layer, false); }
  Tensor bias(Part part, Index layer = kNoLayer) const { return find(part, layer, true); }
  const LayerNorm* final_norm() const { return ln_f_.get(); }  // null with post-norms
  const Block& block(Index layer) const { return *blocks_[static_cast<std::size_t>(layer)]; }
  // [V, C]: the token embedding when tied.
  const Tensor& head_weight() const;

 private:
  struct Blank {};
  Gpt(const GptConfig& config, DType dtype, Blank);
  void list_weights();
  void initialize(std::uint64_t seed);
  void prepare_caches(const Batch& batch, const ForwardContext& context) const;
  Tensor find(Part part, Index layer, bool is_bias) const;
  Tensor embed(const Batch& batch, ForwardHook* hook) const;

  GptConfig config_;
  DType dtype_;
  Embedding wte_;                 // [V, C]
  std::optional<Embedding> wpe_;  // [block_size, C], of learned positions
  Dropout dropout_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<LayerNorm> ln_f_;  // pre-norm only
  std::unique_ptr<Linear> lm_head_;  // untied only
  std::vector<ModelWeight> weights_;
  std::shared_ptr<ForwardHook> attached_;  // may be null
  std::function<void(Index rows)> after_layer_;
};

}  // namespace headlight
