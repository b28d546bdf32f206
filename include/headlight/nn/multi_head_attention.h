#pragma once

#include "headlight/nn/linear.h"
#include "headlight/nn/point.h"
#include "headlight/ops/attention.h"

namespace headlight {

struct MultiHeadAttentionOptions {
  Index width = 0;        // C: width of queries and of the output
  Index heads = 1;        // H
  Index head_width = 0;   // D; 0: C / H, which must divide
  Index key_width = 0;    // Ck; 0: C
  Index value_width = 0;  // Cv; 0: C
  bool bias = true;       // of all four projections
  double dropout = 0;     // on the attention weights
  std::uint64_t dropout_label = 0;
  Index layer = 0;  // layer number reported to a Recorder or ForwardHook
  DType dtype = DType::float32;
};

// Masks and biases of the scores. True means hidden; all given masks apply together.
struct AttentionMasks {
  Tensor key_padding{};  // [B, S] bool: keys that are padding
  Tensor mask{};         // [T, S], [B, 1, T, S] or [B, H, T, S] bool
  bool causal = false;   // also hide later positions
  Tensor bias{};         // shaped like `mask`, floating: added to the scores; -infinity hides
};

// Concat(head_1, ..., head_H) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V) (Vaswani et
// al., arXiv 1706.03762, section 3.2.2). The inner width H D need not equal C. The layers of a Gpt
// use CausalSelfAttention instead.
//
// Parameters: q_proj, k_proj, v_proj (W^Q, W^K and W^V, head-major) and c_proj (W^O).
class MultiHeadAttention : public Module {
 public:
  // Throws Error when the heads do not divide C and no head width is given.
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options,
                              const RandomStream& random = {});

  // Takes query [B, T, C], key [B, S, Ck], value [B, S, Cv]. Returns the output [B, T, C] and the
  // weights of every head [B, H, T, S], before dropout and not averaged. A query without visible
  // keys gets zeros before c_proj.
  //
  // A hook of the context sees q [B T, H, D], k and v [B S, H, D] (rows of the padded batch, one
  // sequence after the other), attn_scores and pattern [H, T, S] of each sequence, z [B T, H, D]
  // and result [B T, H, C]. A recorder gets the pattern. Throws Error for a context with caches.
  AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionMasks& masks = {},
                          const ForwardContext& context = {}) const;

  Index heads() const { return options_.heads; }
  Index head_width() const { return options_.head_width; }
  Index inner_width() const { return options_.heads * options_.head_width; }  // H D

 private:
  // Projects x [B, T, C] and shows the rows to the hook. Returns [B, H, T, D].
  Tensor by_head(const Linear& projection, Point point, const Tensor& x,
                 const ForwardContext& context) const;

  MultiHeadAttentionOptions options_;
  Linear q_proj_;
  Linear k_proj_;
  Linear v_proj_;
  Linear c_proj_;
};

}  // namespace headlight
