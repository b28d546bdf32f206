#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "headlight/nn/architecture.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/multi_head_attention.h"

namespace headlight {

// One layer: attention and MLP, each on a residual path. Parts: ln_1, attn, ln_2, mlp; the last two
// only with config.mlp.
class Block : public Module {
 public:
  // With `zeros` matrices and biases are zeros, to be overwritten.
  Block(const GptConfig& config, Index layer, DType dtype, const RandomStream& random,
        bool zeros = false);

  // x [N, C] -> [N, C], the sequences of a batch laid end to end.
  Tensor forward(const Tensor& x, const std::vector<Index>& offsets,
                 const ForwardContext& context) const;
  // Continues one sequence, x [T, C] -> [T, C]; see MultiHeadAttention::forward_cached.
  Tensor forward_cached(const Tensor& x, const KeyValueView& earlier) const;

  const MultiHeadAttention& attention() const { return attn_; }

 private:
  NormPosition norm_;
  LayerNorm ln_1_;
  MultiHeadAttention attn_;
  std::optional<LayerNorm> ln_2_;
  std::optional<Mlp> mlp_;
  Dropout attention_dropout_;  // on what attention adds
  Dropout mlp_dropout_;        // on what the MLP adds
};

// Keys and values of one sequence in every layer, so that the next token costs one step.
struct KeyValueCache {
  // [H, S, D] each, S the room for positions; every head starts on a boundary of 64 bytes.
  struct Layer {
    Tensor keys;
    Tensor values;
  };
  std::vector<Layer> layers;
  Index length = 0;  // positions in use

  Index room() const { return layers.empty() ? 0 : layers[0].keys.size(1); }
};

// A weight with its values, which are shared with the model.
struct ModelWeight {
  Weight weight;
  Tensor tensor;
};

// GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019): a
// decoder-only transformer with learned positions. Parameter names are those of the Hugging Face
// checkpoint without its "transformer." prefix.
class Gpt : public Module {
 public:
  // Weights start as GPT-2's: N(0, 0.02), projections onto the residual stream N(0, 0.02 / sqrt(2
  // L)), biases 0. Throws Error when the configuration does not validate.
  explicit Gpt(const GptConfig& config, std::uint64_t seed = 1337, DType dtype = DType::float32);

  // A model whose matrices are zeros, to be filled from a file: the random start takes longer than
  // the reading.
  static std::unique_ptr<Gpt> blank(const GptConfig& config, DType dtype = DType::float32);

  // The residual stream after the last norm, [N, C]. Throws Error for a sequence longer than the
  // block and for ids outside the vocabulary.
  Tensor hidden(const Batch& batch, const ForwardContext& context = {}) const;
  // The residual stream as it enters block `layer`, [N, C]; n_layer: as it leaves the last one.
  // Throws as hidden() does, and for a layer that does not exist.
  Tensor residual(const Batch& batch, Index layer, const ForwardContext& context = {}) const;
  // What follows residual(batch, layer): the same bits as hidden(batch), at the cost of the layers
  // from `layer` on.
  Tensor hidden_from(Index layer, const Tensor& residual, const std::vector<Index>& offsets,
                     const ForwardContext& context = {}) const;
  // [N, V]
  Tensor logits(const Batch& batch, const ForwardContext& context = {}) const;
  // Mean cross-entropy over the targets of the batch, or their sum divided by `normalizer` when
  // that is not 0; a scalar.
  Tensor loss(const Batch& batch, const ForwardContext& context = {}, Index normalizer = 0) const;

  // A cache with room for so many positions; 0: for the whole block.
  KeyValueCache make_cache(Index room = 0) const;
  // Appends tokens to a sequence and gives the logits [V] that follow the last one. Records no
  // gradient. Throws Error when the cache has no room left or is another model's.
  Tensor next_logits(const std::vector<std::int32_t>& tokens, KeyValueCache& cache) const;
  // The same up to the head: the residual stream [1, C] of the last token, after the last norm.
  Tensor next_hidden(const std::vector<std::int32_t>& tokens, KeyValueCache& cache) const;
  // Throws Error when the cache has no room for `count` more tokens or is another model's.
  void check_cache(const KeyValueCache& cache, Index count) const;

  const GptConfig& config() const { return config_; }
  // Those of weights_of(config()), in its order.
  const std::vector<ModelWeight>& weights() const { return weights_; }
  // The weight or bias of a part; undefined when the model has none.
  Tensor weight(Part part, Index layer = kNoLayer) const { return find(part, layer, false); }
  Tensor bias(Part part, Index layer = kNoLayer) const { return find(part, layer, true); }
  DType dtype() const { return dtype_; }
  const Block& block(Index layer) const { return *blocks_[static_cast<std::size_t>(layer)]; }
  // [V, C]: the token embedding when tied.
  const Tensor& head_weight() const;

 private:
  struct Blank {};
  Gpt(const GptConfig& config, DType dtype, Blank);
  void list_weights();
  void initialize(std::uint64_t seed);
  Tensor find(Part part, Index layer, bool is_bias) const;
  Tensor embed(const Tensor& tokens, const Tensor& positions) const;
  Tensor run_blocks(Tensor x, Index first, Index last, const std::vector<Index>& offsets,
                    const ForwardContext& context) const;

  GptConfig config_;
  DType dtype_;
  Embedding wte_;  // [V, C]
  Embedding wpe_;  // [block_size, C]
  Dropout dropout_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<LayerNorm> ln_f_;  // pre-norm only
  std::unique_ptr<Linear> lm_head_;  // untied only
  std::vector<ModelWeight> weights_;
};

}  // namespace headlight
