#pragma once

#include "headlight/tensor/shape.h"

// Attention of one decoding step: a new position's query with all keys and values so far.
namespace headlight::kernels {

// Positions per block of keys and values.
inline constexpr Index kAttentionBlock = 64;

// One head of one sequence with its latest query: output = softmax(scale query keys^T) values.
// blocks[t / kAttentionBlock] holds position t; the head's keys start at offset `keys` and its
// values at offset `values` of a block, both [kAttentionBlock, D]. Elements are float, or bfloat16
// (DType::bfloat16), which are converted as they are read.
struct AttentionStep {
  const float* query = nullptr;  // [D]
  const void* const* blocks = nullptr;
  bool bfloat16 = false;
  Index keys = 0;  // in elements
  Index values = 0;
  Index length = 0;  // S
  Index hidden = 0;  // number of positions at the start that the query does not see
  Index width = 0;   // D
  float scale = 1;
  float cap = 0;            // soft cap of the scaled scores; 0: none
  float* scores = nullptr;  // [S], overwritten
  float* output = nullptr;  // [D]
};

struct AttentionSteps {
  void (*attend)(const AttentionStep& step);
};

const AttentionSteps& attention_steps();

}  // namespace headlight::kernels
