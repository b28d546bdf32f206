#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "headlight/nn/architecture.h"
#include "headlight/nn/causal_self_attention.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/key_value_cache.h"
#include "headlight/nn/language_model.h"

namespace headlight {

enum class Branch { attention, mlp };

// A layer: attention and MLP, each with a residual connection. Submodules: ln_1, attn, ln_1_out,
// ln_2, mlp, ln_2_out. The last three need config.mlp; ln_2 also needs separate norms (no
// config.shared_norm); ln_1_out and ln_2_out need config.has_output_norms(). With norm = output
// there is no ln_1 or ln_2.
class Block : public Module {
 public:
  Block(const GptConfig& config, Index layer, DType dtype, const RandomStream& random,
        Initialisation initialisation = Initialisation::random);

  // Maps x [N, C] to [N, C]; sequences of a batch are laid end to end.
  Tensor forward(const Tensor& x, const std::vector<Index>& offsets,
                 const ForwardContext& context) const;

  const CausalSelfAttention& attention() const { return attn_; }
  // Returns the norm before a branch, or after the addition in a post-norm model. Not for norm =
  // output.
  const LayerNorm& norm(Branch branch) const {
    return branch == Branch::mlp && ln_2_ ? *ln_2_ : *ln_1_;
  }
  // Returns the norm of a branch's output with config.has_output_norms(); else null.
  const LayerNorm* output_norm(Branch branch) const {
    const std::optional<LayerNorm>& norm = branch == Branch::attention ? ln_1_out_ : ln_2_out_;
    return norm ? &*norm : nullptr;
  }
  const Mlp& mlp() const { return *mlp_; }  // only for layers with an MLP

 private:
  class Pass;

  BlockPlan plan_;
  Index layer_;
  std::optional<LayerNorm> ln_1_;
  CausalSelfAttention attn_;
  std::optional<LayerNorm> ln_1_out_;
  std::optional<LayerNorm> ln_2_;
  std::optional<Mlp> mlp_;
  std::optional<LayerNorm> ln_2_out_;
  Dropout attention_dropout_;  // on the output of attention
  Dropout mlp_dropout_;        // on the output of the MLP
};

// A weight with its tensor, which shares memory with the model.
struct ModelWeight {
  Weight weight;
  Tensor tensor;
};

// A transformer of one stack, decoder-only unless config.causal is false: by default GPT-2 (Radford
// et al., "Language Models are Unsupervised Multitask Learners", 2019); other keys of GptConfig
// give later families. Parameters have the names of Hugging Face's GPT-2 without the "transformer."
// prefix.
class Gpt : public LanguageModel {
 public:
  // Initialises weights like GPT-2: N(0, 0.02), projections onto the residual stream N(0, 0.02 /
  // sqrt(2 L)), biases 0. Throws Error for an invalid configuration.
  explicit Gpt(const GptConfig& config, std::uint64_t seed = 1337, DType dtype = DType::float32);
  // Starts from zeros, or without elements in the token embedding and the head, or in the matrices
  // of the layers: see Initialisation. Not for Initialisation::random.
  struct Initialisations {
    Initialisation head = Initialisation::zeros;
    Initialisation layers = Initialisation::zeros;
  };
  Gpt(const GptConfig& config, const Initialisations& initialisations, DType dtype);

  // Returns a model with zero matrices, to be filled from a file: random initialisation takes
  // longer than reading.
  static std::unique_ptr<Gpt> blank(const GptConfig& config, DType dtype = DType::float32) {
    return std::make_unique<Gpt>(config, Initialisations{}, dtype);
  }

  // Returns the vectors that the head multiplies, [N, C]: the residual stream after the final norm
  // or the transform of config.masked_head, times config.logit_scale. With context.caches the batch
  // continues sequences, and its positions must match; see continue_sequences(). Throws Error for a
  // sequence longer than block_size, ids outside the vocabulary, and caches of another model.
  Tensor hidden(const Batch& batch, const ForwardContext& context = {}) const override;
  Tensor residual(const Batch& batch, Index layer,
                  const ForwardContext& context = {}) const override;
  Tensor hidden_from(Index layer, const Tensor& residual, const Batch& batch,
                     const ForwardContext& context = {}) const override;
  Tensor run_layers(Index first, Index last, const Tensor& residual, const Batch& batch,
                    const ForwardContext& context = {}) const override;
  // Returns hidden() of a residual stream [n, C] after any layer, as if no layers followed, which
  // `hook` sees; it may be null.
  Tensor finished(const Tensor& residual, ForwardHook* hook = nullptr) const;
  // Returns the head's product with hidden states [N, C], plus its bias: logits [N, V] before
  // config.logit_cap.
  Tensor head_product(const Tensor& hidden, Precision precision = Precision::float32) const;
  Tensor head_logits(const Tensor& hidden, Precision precision = Precision::float32) const override;
  Tensor logits_of(const Tensor& hidden, const ForwardContext& context = {}) const override;
  Tensor logit_difference(const Tensor& hidden, std::int32_t token,
                          std::int32_t other) const override;
  std::optional<LinearHead> linear_head(const ForwardHook* hook = nullptr) const override;
  Tensor logits(const Batch& batch, const ForwardContext& context = {}) const override;
  Tensor next_logits(const Batch& batch, const ForwardContext& context = {}) const override;

  // Attaches a hook to every later pass, including a Decoder's; it runs before the hook of the
  // context. Null removes it. Used for interventions: all tools then see a changed model.
  void attach(std::shared_ptr<ForwardHook> hook) { attached_ = std::move(hook); }
  ForwardHook* attached() const { return attached_.get(); }
  bool is_changed() const override { return attached_ != nullptr; }
  bool takes_passes_together() const override {
    return attached_ == nullptr || attached_->takes_passes_together();
  }

  // Sets the maps whose features hooks see and change at Point::feature.
  void attach_features(FeatureMaps maps) { features_ = std::move(maps); }
  const FeatureMaps& features() const { return features_; }

  // Sets a function to call after every layer of a pass, with the layer's number of rows; a Decoder
  // does not call it. It may run other passes, and may change attach() and itself if it restores
  // them. Used to interleave other work.
  void call_after_layers(std::function<void(Index rows)> call) { after_layer_ = std::move(call); }

  // Trains rows of the token embedding, and of an untied head without bias, whose other rows are
  // frozen: copies of them become the parameters "wte.trained_rows" and "lm_head.trained_rows".
  // `ids` are ascending ids of tokens.
  void train_rows(const std::vector<std::int32_t>& ids);

  bool has_cache() const override { return config_.causal; }
  std::shared_ptr<KeyValueCache> new_cache() const override {
    return std::make_shared<KeyValueCache>(make_cache());
  }
  KeyValueCache make_cache() const { return KeyValueCache(config_, dtype_); }
  // Returns whether the keys of a sequence of `before` tokens change when it has `after` tokens:
  // see RopeScaling::longrope.
  bool changes_keys(Index before, Index after) const {
    return has_long_factors(config_.rope, before) != has_long_factors(config_.rope, after);
  }
  // Throws Error when the cache cannot take `count` more tokens or belongs to another model.
  void check_cache(const KeyValueCache& cache, Index count) const;

  Index vocab_size() const override { return config_.vocab_size; }
  Index block_size() const override { return config_.block_size; }
  DType dtype() const override { return dtype_; }
  bool is_causal() const override { return config_.causal; }
  void require_head() const override { config_.require_head(); }
  Index layer_count() const override { return config_.n_layer; }
  HeadLayout heads() const override { return config_.head_layout(); }
  const CausalSelfAttention* attention(Index layer) const override {
    return &block(layer).attention();
  }
  std::vector<HiddenMatrix> hidden_matrices() const override { return hidden_matrices_of(config_); }
  std::string model_type() const override { return "gpt2"; }

  const GptConfig& config() const { return config_; }
  // Returns the weights in the order of weights_of(config()), without low-rank updates.
  const std::vector<ModelWeight>& weights() const { return weights_; }
  // Return the weight, with its low-rank updates, or the bias of a part; undefined when the model
  // has none.
  Tensor weight(Part part, Index layer = kNoLayer) const { return find(part, layer, false); }
  Tensor bias(Part part, Index layer = kNoLayer) const { return find(part, layer, true); }
  const LayerNorm* final_norm() const { return ln_f_ ? &*ln_f_ : nullptr; }  // null with post-norms
  const Block& block(Index layer) const { return *blocks_[static_cast<std::size_t>(layer)]; }
  // Returns the head matrix [V, C]; the token embedding when tied. Computes its elements if it is
  // stored in another form.
  Tensor head_weight() const { return lm_head_ ? lm_head_->full_weight() : wte_.full_weight(); }
  // Return rows [..., C] of head_weight() and of the token embedding for ids [...] int32. They
  // compute no other elements of a weight that is stored in another form.
  Tensor head_rows(const Tensor& ids) const;
  Tensor embedding_rows(const Tensor& ids) const { return wte_.forward(ids); }
  // Returns embedding_rows() times the factor of the embedding.
  Tensor scaled_embedding(const Tensor& ids) const;
  // Returns rows [first, last) of weight(part, layer) for a matrix of a layer.
  Tensor weight_rows(Part part, Index layer, Index first, Index last) const;
  // Returns the other forms of the head and the token embedding; null if they have none.
  const StoredWeight* stored_head() const { return lm_head_ ? lm_head_->stored() : wte_.stored(); }
  const StoredWeight* stored_embedding() const { return wte_.stored(); }
  // Returns the bias of the head [V]; undefined without config.has_head_bias().
  const Tensor& head_bias() const { return lm_head_ ? lm_head_->bias : head_bias_; }

 private:
  class Pass;

  void list_weights();
  void initialize(std::uint64_t seed);
  void prepare_caches(const Batch& batch, const ForwardContext& context) const;
  void check_prefixes(const Batch& batch, const ForwardContext& context) const;
  Tensor find(Part part, Index layer, bool is_bias) const;
  const Linear& linear_of(const Weight& weight) const;

  GptConfig config_;
  DType dtype_;
  Embedding wte_;                 // [V, C]
  std::optional<Embedding> wpe_;  // [block_size, C], learned positions only
  std::optional<Embedding> wse_;  // [n_segment, C]
  std::optional<LayerNorm> ln_e_;
  Dropout dropout_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::optional<LayerNorm> ln_f_;         // pre-norm only
  std::optional<Linear> head_transform_;  // masked_head only, like head_norm_
  std::optional<LayerNorm> head_norm_;
  std::optional<Linear> lm_head_;  // untied only
  Tensor head_bias_;               // [V], tied and has_head_bias() only
  std::vector<ModelWeight> weights_;
  std::shared_ptr<ForwardHook> attached_;  // may be null
  FeatureMaps features_;
  std::function<void(Index rows)> after_layer_;
};

}  // namespace headlight
