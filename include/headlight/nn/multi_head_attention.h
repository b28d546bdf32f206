#pragma once

#include "headlight/nn/architecture.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/layers.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/attention.h"

namespace headlight {

struct MultiHeadAttentionOptions {
  Index width = 0;                   // C: width of queries and of the output
  Index heads = 1;                   // H
  Index key_heads = 0;               // G; 0: H. Other values need the fused projection
  std::vector<Index> key_ends = {};  // as in AttentionPlan
  Index head_width = 0;              // D; 0: C / H, which must divide
  Index window = 0;  // as in AttentionPlan; for forward_ragged(), or forward() with masks.causal
  double scale = 0;  // factor of the scores; 0: 1 / sqrt(D)
  std::optional<NormOptions> qk_norm = {};  // over D, on queries and keys; forward_ragged() only
  std::optional<RopeOptions> rope = {};     // rotation after qk_norm; forward_ragged() only
  Index key_width = 0;                      // of the keys in forward(); 0: C
  Index value_width = 0;                    // of the values in forward(); 0: C
  bool fused = true;                     // one matrix for query, key and value; needs equal widths
  bool bias = true;                      // of queries, keys and values
  std::optional<bool> output_bias = {};  // none: as `bias`
  double dropout = 0;                    // on the attention weights
  std::uint64_t dropout_label = 0;
  Index layer = 0;  // layer number reported to a Recorder
  DType dtype = DType::float32;
  bool zeros = false;  // as in LinearOptions
};

// Masks and biases of the scores. True means hidden; all given masks apply together.
struct AttentionMasks {
  Tensor key_padding{};  // [B, S] bool: keys that are padding
  Tensor mask{};         // [T, S], [B, 1, T, S] or [B, H, T, S] bool
  bool causal = false;   // also hide later positions
  Tensor bias{};         // shaped like `mask`, floating: added to the scores; -infinity hides
};

// Concat(head_1, ..., head_H) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V) (Vaswani et
// al., arXiv 1706.03762, section 3.2.2). The inner width H D need not equal C.
//
// Parameters when fused, as in GPT-2: c_attn (rows: query, key, value, each head-major) and c_proj;
// otherwise q_proj, k_proj, v_proj and c_proj. With qk_norm also q_norm and k_norm.
class MultiHeadAttention : public Module {
 public:
  // Throws Error when the heads do not divide C and no head width is given. Also throws when a
  // fused projection has other key or value widths.
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options,
                              const RandomStream& random = {});

  // Takes query [B, T, C], key [B, S, Ck], value [B, S, Cv]. Returns the output [B, T, C] and the
  // weights of every head [B, H, T, S], before dropout and not averaged. A query without visible
  // keys gets zeros before c_proj.
  AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionMasks& masks = {},
                          const ForwardContext& context = {}) const;

  // Causal self-attention on the sequences of a batch laid end to end, x [N, C] -> [N, C]; needs
  // the fused projection. Gives the numbers of forward(), without padding or [T, T] matrices.
  // Normalises x first if `norm` is given. With context.caches, appends the new keys and values to
  // the caches; queries also see the cached ones.
  Tensor forward_ragged(const Tensor& x, const std::vector<Index>& offsets,
                        const ForwardContext& context,
                        const std::optional<NormParameters>& norm = std::nullopt) const;

  // Returns each head's contribution to the output, [N, H, C], from the heads' outputs z [N, H, D],
  // without the bias of c_proj.
  Tensor results(const Tensor& z) const;
  // Returns c_proj of z, [N, H, D] -> [N, C], as the sum of results() after a hook has seen them.
  Tensor output_of(const Tensor& z, ForwardHook* hook) const;

  AttentionPlan plan() const {
    return {options_.heads, options_.key_heads, options_.head_width, options_.window,
            options_.scale, options_.rope,      options_.key_ends};
  }
  Index heads() const { return options_.heads; }
  Index head_width() const { return options_.head_width; }
  Index inner_width() const { return options_.heads * options_.head_width; }  // H D

 private:
  Tensor project(const Tensor& x, Index part) const;
  Tensor parts_visited(const Tensor& qkv, std::initializer_list<Point> points,
                       ForwardHook* hook) const;
  Tensor queries_and_keys_normalized(const Tensor& qkv) const;
  Tensor queries_and_keys_turned(const Tensor& qkv, const std::vector<Index>& offsets,
                                 const ForwardContext& context) const;
  Tensor attend(const Tensor& qkv, const std::vector<Index>& offsets,
                const ForwardContext& context) const;
  Tensor attend_behind_caches(const Tensor& qkv, const std::vector<Index>& offsets,
                              const ForwardContext& context) const;
  Tensor attend_openly(const Tensor& qkv, const std::vector<Index>& offsets,
                       const ForwardContext& context) const;
  Tensor split_heads(const Tensor& x) const;
  void check_mask(const Tensor& mask, const Tensor& query, const Tensor& key) const;
  Tensor whole_mask(const AttentionMasks& masks, const Tensor& query, const Tensor& key) const;

  MultiHeadAttentionOptions options_;
  std::vector<std::unique_ptr<Linear>> projections_;  // c_attn, or q_proj, k_proj, v_proj
  std::unique_ptr<Linear> c_proj_;
  std::optional<LayerNorm> q_norm_;
  std::optional<LayerNorm> k_norm_;
};

}  // namespace headlight
