#pragma once

#include "headlight/tensor/shape.h"

// Attention of generation: a new position's query with the keys and values of those before it.
namespace headlight::kernels {

// Positions of a block of keys and values.
inline constexpr Index kAttentionBlock = 64;

// One head of one sequence attends with its latest query: output = softmax(scale query keys^T)
// values. Position t lies in blocks[t / kAttentionBlock], where the head's keys begin at `keys` and
// its values at `values`, both [kAttentionBlock, D].
struct AttentionStep {
  const float* query = nullptr;  // [D]
  const float* const* blocks = nullptr;
  Index keys = 0;
  Index values = 0;
  Index length = 0;  // S
  Index hidden = 0;  // of these, in front: not seen
  Index width = 0;   // D
  float scale = 1;
  float* scores = nullptr;  // [S], overwritten
  float* output = nullptr;  // [D]
};

struct AttentionSteps {
  void (*attend)(const AttentionStep& step);
  // What attend() does, in three parts: `scores` become the scaled scores, those of hidden
  // positions -infinity; then their softmax, 0 for hidden ones; then output = sum of scores[t]
  // values[t].
  void (*scores)(const AttentionStep& step);
  void (*weights)(const AttentionStep& step);
  void (*values)(const AttentionStep& step);
};

const AttentionSteps& attention_steps();

}  // namespace headlight::kernels
