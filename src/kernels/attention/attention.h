#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/shape.h"
#include "kernels/loops.h"

// Causal multi-head attention over sequences laid end to end. Scores live in tiles only: an online
// softmax (Milakov and Gimelshein, arXiv 1805.02867) carries the row maximum and sum from one block
// of keys to the next, and backward computes the scores again (Dao et al., arXiv 2205.14135).
namespace headlight::kernels {

// One sequence: its queries are the last ones among its keys.
struct AttentionSequence {
  Index query_begin = 0;  // row of the first query
  Index query_count = 0;  // T
  Index key_begin = 0;    // row of the first key
  Index key_count = 0;    // S >= T; query t sees keys 0 ... S - T + t, or the last ones of these
};

// Head h of row n starts at query + n * query_stride + h * head_width, and of keys and values at
// key + n * key_stride + g * key_head_stride, where the query heads of group g share key head g.
template <class T>
struct AttentionOperands {
  const T* query = nullptr;
  const T* key = nullptr;
  const T* value = nullptr;
  Index query_stride = 0;
  Index key_stride = 0;       // of keys and values
  Index key_head_stride = 0;  // of keys and values
  Index heads = 1;
  Index key_heads = 0;  // 0: as many as heads
  // [key_heads], rising: group g are the heads below key_ends[g] that are in no group before;
  // empty: heads / key_heads in a row.
  std::span<const Index> key_ends = {};
  Index head_width = 0;
  Index window = 0;  // keys that a query sees at most, the last ones; 0: all
  T scale = 1;
  DropoutRow dropout;  // seed, stream and probability; positions are filled in
  std::span<const AttentionSequence> sequences;
  // Of what is multiplied: queries, keys, values, weights and the gradients of them; of float only.
  // The softmax and all sums are as in float32.
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
  // Per sequence [H, T, S], the weights before dropout; empty: not wanted.
  std::span<T* const> weights;
};

template <class T>
void attention_forward(const AttentionOperands<T>& in, const AttentionOutputs<T>& out);

template <class T>
struct AttentionGradients {
  const T* output = nullptr;       // [N, H D], as computed
  const T* log_sum_exp = nullptr;  // [N, H]
  const T* output_grad = nullptr;  // [N, H D]
  T* query_grad = nullptr;         // laid out as query, key and value are
  T* key_grad = nullptr;
  T* value_grad = nullptr;
};

template <class T>
void attention_backward(const AttentionOperands<T>& in, const AttentionGradients<T>& gradients);

// The same with operands rounded to bfloat16, by the given tiles.
struct Bfloat16Tiles;
void attention_forward(const AttentionOperands<float>& in, const AttentionOutputs<float>& out,
                       const Bfloat16Tiles& tiles);
void attention_backward(const AttentionOperands<float>& in,
                        const AttentionGradients<float>& gradients, const Bfloat16Tiles& tiles);

}  // namespace headlight::kernels
