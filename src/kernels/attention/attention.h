#pragma once

#include <algorithm>
#include <span>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/shape.h"
#include "kernels/loops.h"

// Multi-head attention over concatenated sequences, causal or not. Scores exist in tiles only: an
// online softmax (Milakov and Gimelshein, arXiv 1805.02867) carries the row maximum and sum between
// blocks of keys. Backward recomputes the scores (Dao et al., arXiv 2205.14135).
namespace headlight::kernels {

// One sequence. Its queries belong to the last query_count keys.
struct AttentionSequence {
  Index query_begin = 0;  // row of the first query
  Index query_count = 0;  // T
  Index key_begin = 0;    // row of the first key
  Index key_count = 0;  // S >= T; query t sees keys 0 ... S - T + t, or the last `window` of them;
                        // without a causal mask all S keys
};

// Head h of row n starts at query + n * query_stride + h * head_width. The query heads of group g
// share key head g, at offset n * key_stride + g * key_head_stride of keys and values.
template <class T>
struct AttentionOperands {
  const T* query = nullptr;
  const T* key = nullptr;
  const T* value = nullptr;
  Index query_stride = 0;
  Index key_stride = 0;       // for keys and values
  Index key_head_stride = 0;  // for keys and values
  Index heads = 1;
  Index key_heads = 0;  // 0: as many as heads
  // [key_heads], increasing: group g has the heads from key_ends[g - 1] to below key_ends[g];
  // empty: groups of heads / key_heads consecutive heads.
  std::span<const Index> key_ends = {};
  Index head_width = 0;
  Index window = 0;    // maximum number of keys that a query sees, the most recent ones; 0: all
  bool causal = true;  // false: every query sees all keys; needs window 0
  T scale = 1;
  T cap = 0;           // soft cap of the scaled scores: cap tanh(score / cap); 0: none
  DropoutRow dropout;  // seed, stream and probability; the kernels set the position
  std::span<const AttentionSequence> sequences;
  // Precision of the factors: queries, keys, values, weights and their gradients. bfloat16 for T =
  // float only. The softmax and all sums stay in float32.
  Precision precision = Precision::float32;

  Index groups() const { return key_heads == 0 ? heads : key_heads; }
  Index group_begin(Index group) const {
    if (key_ends.empty()) {
      return group * (heads / groups());
    }
    return group == 0 ? 0 : key_ends[static_cast<std::size_t>(group - 1)];
  }
  Index group_of(Index head) const {
    return key_ends.empty()
               ? head / (heads / groups())
               : std::upper_bound(key_ends.begin(), key_ends.end(), head) - key_ends.begin();
  }
};

template <class T>
struct AttentionOutputs {
  T* output = nullptr;       // [N, H D]
  T* log_sum_exp = nullptr;  // [N, H], for backward; may be null
  // [H, T, S] per sequence: the weights before dropout; empty: not stored.
  std::span<T* const> weights;
};

template <class T>
void attention_forward(const AttentionOperands<T>& in, const AttentionOutputs<T>& out);

template <class T>
struct AttentionGradients {
  const T* output = nullptr;       // [N, H D], from forward
  const T* log_sum_exp = nullptr;  // [N, H], from forward
  const T* output_grad = nullptr;  // [N, H D]
  T* query_grad = nullptr;         // all three in the layout of query, key and value
  T* key_grad = nullptr;
  T* value_grad = nullptr;
};

template <class T>
void attention_backward(const AttentionOperands<T>& in, const AttentionGradients<T>& gradients);

// These attention passes with operands rounded to bfloat16, multiplied by the given tiles.
struct Bfloat16Tiles;
void attention_forward(const AttentionOperands<float>& in, const AttentionOutputs<float>& out,
                       const Bfloat16Tiles& tiles);
void attention_backward(const AttentionOperands<float>& in,
                        const AttentionGradients<float>& gradients, const Bfloat16Tiles& tiles);

}  // namespace headlight::kernels
