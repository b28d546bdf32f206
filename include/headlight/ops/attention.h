#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/random.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

struct AttentionOptions {
  Tensor mask{};        // bool, broadcasts to [..., T, S]; true = hidden; undefined: nothing is
  bool causal = false;  // also hide keys in a query's future
  Index window = 0;     // with causal: keys that a query sees at most, its own included; 0: all
  // Key and value have fewer heads (their third axis from the end) than the query, each shared by
  // as many query heads in a row.
  bool enable_gqa = false;
  Tensor bias{};          // added to the scores, broadcasts to [..., T, S]; -infinity hides
  double scale = 0;       // of the scores; 0: 1 / sqrt(D)
  double dropout = 0;     // probability, on the weights
  RandomStream random{};  // of the dropout
  // Gives what takes the place of the scores [..., T, S], with hidden ones -infinity.
  std::function<Tensor(const Tensor&)> on_scores = {};
  // Gives what takes the place of the weights [..., T, S], before dropout.
  std::function<Tensor(const Tensor&)> on_weights = {};
  // With enable_gqa, as in RaggedAttentionOptions.
  std::vector<Index> key_ends = {};
};

struct AttentionResult {
  Tensor output;   // [..., T, Dv]
  Tensor weights;  // [..., T, S], before dropout; a row sums to 1, or is 0 when all is hidden
};

// softmax(query key^T / sqrt(D) + bias) value: query [..., T, D], key [..., S, D], value [..., S,
// Dv]. Vaswani et al., arXiv 1706.03762, equation 1.
AttentionResult scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                             const Tensor& value,
                                             const AttentionOptions& options = {});

struct RaggedAttentionOptions {
  Index heads = 1;      // H
  Index key_heads = 0;  // G; 0: H
  // [G], rising to H: the heads below key_ends[g] that are in no group before share key head g.
  // Empty: H / G in a row, which G must divide.
  std::vector<Index> key_ends{};
  Index window = 0;              // keys that a query sees at most, its own included; 0: all
  std::vector<Index> offsets{};  // [B + 1]: sequence b is rows offsets[b] ... offsets[b + 1] - 1
  double scale = 0;              // of the scores; 0: 1 / sqrt(D)
  double dropout = 0;
  RandomStream random{};
  // When given: one tensor [H, T, T] per sequence is appended, the weights before dropout, written
  // by the same kernel that computes the output. They carry no gradient.
  std::vector<Tensor>* weights = nullptr;
  // Of what float32 products take, forward and backward; the softmax, its weights as they are
  // recorded, and all sums stay float32.
  Precision precision = Precision::float32;
};

// Causal self-attention of B sequences laid end to end: qkv [N, (H + 2 G) D], query, key and value
// side by side, head-major inside each; gives [N, H D]. H / G query heads in a row share a head of
// keys and values (Ainslie et al., arXiv 2305.13245). Memory is linear in the sequence lengths:
// scores are computed in tiles with an online softmax (Dao et al., arXiv 2205.14135) and again in
// backward.
Tensor ragged_attention(const Tensor& qkv, const RaggedAttentionOptions& options);

// Keys and values of one sequence that were computed before, of each head one after the other. The
// heads may lie further apart than S D.
struct KeyValueView {
  Tensor keys;       // [G, S, D]
  Tensor values;     // [G, S, D]
  Index length = 0;  // positions that are in use; the last T of them belong to the queries
};

struct CachedAttentionOptions {
  std::vector<Index> key_ends{};  // as in RaggedAttentionOptions
  Index window = 0;               // as in RaggedAttentionOptions
  double scale = 0;               // of the scores; 0: 1 / sqrt(D)
  // As in RaggedAttentionOptions, [H, T, S].
  std::vector<Tensor>* weights = nullptr;
};

// The last T positions of one sequence attend to all earlier ones: query [T, H D]; gives [T, H D].
// Records no gradient. Throws Error when fewer keys than queries are in use.
Tensor cached_attention(const Tensor& query, const KeyValueView& cache,
                        const CachedAttentionOptions& options = {});

}  // namespace headlight
