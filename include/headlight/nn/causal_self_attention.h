#pragma once

#include "headlight/nn/architecture.h"
#include "headlight/nn/layers.h"

namespace headlight {

struct KeptAttention;

// Returns whether queries, keys and values have a limit.
bool has_limit(const GptConfig& config);

// Returns queries, keys or values within their limit.
Tensor within_limit(const Tensor& x, const GptConfig& config);

struct CausalSelfAttentionOptions {
  Index width = 0;                       // C
  AttentionPlan plan = {};               // key_heads 0: H; head_width 0: C / H
  GptConfig config = {};                 // limits and norms of queries, keys and values
  bool bias = true;                      // of queries, keys and values
  std::optional<bool> output_bias = {};  // none: as `bias`
  double dropout = 0;                    // on the attention weights
  std::uint64_t dropout_label = 0;
  Index layer = 0;  // layer number reported to a Recorder or ForwardHook
  DType dtype = DType::float32;
  Initialisation initialisation = Initialisation::random;
};

// The attention of a Block: each token attends to itself and the tokens before it in its sequence,
// or to all of them if the plan is not causal.
// MultiHeadAttention is the general module, with any queries, keys, values and masks.
//
// Parameters, as in GPT-2: c_attn (rows: query, key, value, each head-major) and c_proj; with
// config.qk_norm also q_norm and k_norm.
class CausalSelfAttention : public Module {
 public:
  // Throws Error when the heads do not divide C and no head width is given, or when the key heads
  // do not divide the heads and no key_ends are given.
  explicit CausalSelfAttention(const CausalSelfAttentionOptions& options,
                               const RandomStream& random = {});

  // Maps x [N, C] to [N, C], with the sequences of a batch laid end to end. Normalises x first if
  // `norm` is given. With context.caches, appends the new keys and values to the caches; queries
  // also see the cached ones. `kept` may be null: see RaggedAttentionOptions::kept.
  Tensor forward(const Tensor& x, const std::vector<Index>& offsets,
                 const ForwardContext& context = {},
                 const std::optional<NormParameters>& norm = std::nullopt,
                 KeptAttention* kept = nullptr) const;

  const AttentionPlan& plan() const { return plan_; }
  // Returns queries, keys or values within the limit of the model.
  Tensor limited(const Tensor& x) const { return within_limit(x, config_); }
  // Returns the matrix that the outputs of all heads are multiplied with, [C, H D].
  Tensor output_matrix() const { return c_proj_.full_weight(); }

 private:
  Tensor parts_visited(const Tensor& qkv, std::initializer_list<Point> points,
                       ForwardHook* hook) const;
  Tensor queries_and_keys_normalized(const Tensor& qkv) const;
  Tensor queries_and_keys_rotated(const Tensor& qkv, const std::vector<Index>& offsets,
                                  const ForwardContext& context) const;
  Tensor attend(const Tensor& qkv, const std::vector<Index>& offsets, const ForwardContext& context,
                KeptAttention* kept) const;
  // Returns the keys (part 1) or values (2) of a sequence, with those before it: [G, S, D].
  Tensor with_past(Index part, const Tensor& qkv, Index sequence, const std::vector<Index>& offsets,
                   const ForwardContext& context) const;
  Tensor attend_with_past(const Tensor& qkv, const std::vector<Index>& offsets,
                          const ForwardContext& context) const;
  Tensor attend_unfused(const Tensor& qkv, const std::vector<Index>& offsets,
                        const ForwardContext& context) const;
  std::vector<Tensor>* recorded_weights(const ForwardContext& context) const;
  double dropout_of(const ForwardContext& context) const { return context.training ? dropout_ : 0; }

  AttentionPlan plan_;
  GptConfig config_;
  Index layer_;
  double dropout_;
  std::uint64_t dropout_label_;
  Linear c_attn_;
  Linear c_proj_;
  std::optional<LayerNorm> q_norm_;
  std::optional<LayerNorm> k_norm_;
};

}  // namespace headlight
