#pragma once

#include <functional>
#include <vector>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/random.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

struct AttentionOptions {
  Tensor mask{};        // bool, broadcasts to [..., T, S]; true = hidden; undefined: all visible
  bool causal = false;  // also hides keys in a query's future
  Index window = 0;     // with causal: maximum visible keys of a query, its own included; 0: all
  // Allows key and value fewer heads (third axis from the end) than the query. An equal number of
  // consecutive query heads then shares each of them.
  bool enable_gqa = false;
  Tensor bias{};          // added to the scores, broadcasts to [..., T, S]; -infinity hides
  double scale = 0;       // factor of the scores; 0: 1 / sqrt(D)
  double cap = 0;         // soft cap of the scaled scores: cap tanh(score / cap); 0: none
  double dropout = 0;     // probability, applied to the weights
  RandomStream random{};  // random numbers of the dropout
  // Returns replacements for the scores [..., T, S], in which hidden scores are -infinity.
  std::function<Tensor(const Tensor&)> on_scores = {};
  // Returns replacements for the weights [..., T, S], before dropout.
  std::function<Tensor(const Tensor&)> on_weights = {};
  // With enable_gqa, as in RaggedAttentionOptions.
  std::vector<Index> key_ends = {};
};

struct AttentionResult {
  Tensor output;   // [..., T, Dv]
  Tensor weights;  // [..., T, S], before dropout; a row sums to 1, or is 0 if all keys are hidden
};

// softmax(query key^T / sqrt(D) + bias) value, for query [..., T, D], key [..., S, D], value [...,
// S, Dv]. Vaswani et al., arXiv 1706.03762, equation 1.
AttentionResult scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                             const Tensor& value,
                                             const AttentionOptions& options = {});

// Results of ragged_attention() that its backward pass needs.
struct KeptAttention {
  Tensor output;       // [N, H D]
  Tensor log_sum_exp;  // [N, H], of the scores of each query
};

struct RaggedAttentionOptions {
  Index heads = 1;      // H
  Index key_heads = 0;  // G; 0: H
  // [G], increasing to H: key head g serves the query heads [key_ends[g - 1], key_ends[g]). Empty:
  // each key head serves H / G consecutive query heads; G must divide H.
  std::vector<Index> key_ends{};
  Index window = 0;              // maximum visible keys of a query, its own included; 0: all
  bool causal = true;            // false: a query sees all keys of its sequence; needs window 0
  std::vector<Index> offsets{};  // [B + 1]: sequence b is rows offsets[b] ... offsets[b + 1] - 1
  double scale = 0;              // factor of the scores; 0: 1 / sqrt(D)
  double cap = 0;                // as in AttentionOptions
  double dropout = 0;
  RandomStream random{};
  // Unless null, receives one tensor [H, T, T] per sequence: the weights before dropout, from the
  // kernel that computes the output. They carry no gradient.
  std::vector<Tensor>* weights = nullptr;
  // Unless null: receives the results if it is empty, and otherwise has those of an earlier call
  // with equal arguments, which are not computed again.
  KeptAttention* kept = nullptr;
  // Precision of the factors of float32 products, forward and backward. The softmax, the recorded
  // weights and all sums stay float32.
  Precision precision = Precision::float32;
};

// Self-attention of B concatenated sequences, causal unless options.causal is false. qkv is [N, (H
// + 2 G) D]: query, key and value side by side, head-major. Returns [N, H D]. H / G consecutive
// query heads share a head of keys and values (Ainslie et al., arXiv 2305.13245). Memory is linear
// in the sequence lengths: scores are computed in tiles with an online softmax (Dao et al., arXiv
// 2205.14135), and recomputed in backward.
Tensor ragged_attention(const Tensor& qkv, const RaggedAttentionOptions& options);

struct CachedAttentionOptions {
  // [B + 1] each: sequence b has queries offsets[b] ... offsets[b + 1] - 1, and keys likewise.
  // Empty: one sequence.
  std::vector<Index> offsets{};
  std::vector<Index> key_offsets{};
  std::vector<Index> key_ends{};  // as in RaggedAttentionOptions
  Index window = 0;               // as in RaggedAttentionOptions
  double scale = 0;               // factor of the scores; 0: 1 / sqrt(D)
  double cap = 0;                 // as in AttentionOptions
  // As in RaggedAttentionOptions, but [H, T, S] of each sequence.
  std::vector<Tensor>* weights = nullptr;
  Precision precision = Precision::float32;  // as in RaggedAttentionOptions
};

// Attention of the last T positions of each sequence to all its S positions: query [N, H D], keys
// and values [G, M, D] of all sequences; returns [N, H D]. The stride between heads may exceed M D.
// Records no gradient. Throws Error if S is below T.
Tensor cached_attention(const Tensor& query, const Tensor& keys, const Tensor& values,
                        const CachedAttentionOptions& options = {});

}  // namespace headlight
