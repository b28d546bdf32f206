#pragma once

#include <cstdint>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/shape.h"

// Attention of one decoding step: the queries of a new position with keys and values so far. The
// context is divided into parts, which several threads may compute; merge() adds them in order.
namespace headlight::kernels {

// Positions per block of keys and values.
inline constexpr Index kAttentionBlock = 64;

// Floats of the sums of one query head over a part of the context: the weighted values [D], the
// largest score, and the sum of the weights exp(score - largest).
constexpr Index attention_sums(Index width) { return width + 2; }

// The keys that are read after a part.
struct NextKeys {
  const void* block = nullptr;  // null: none
  Index keys = 0;               // as AttentionStep::keys
  Index count = 0;              // positions in the block
};

// The query heads of one key head with a part of the context: sums over softmax weights of
// scale query keys^T, as in flash-decoding (https://pytorch.org/blog/flash-decoding).
// blocks[t / kAttentionBlock] holds position t of the part; the head's keys start at offset `keys`
// and its values at offset `values` of a block, both [kAttentionBlock, D]. Elements are converted
// to float as they are read. After int8 follow the scales, float [kAttentionBlock]: see
// cached_head().
struct AttentionStep {
  const float* queries = nullptr;  // [heads, D]
  Index heads = 1;                 // query heads
  const void* const* blocks = nullptr;
  NextKeys next = {};  // for prefetching
  CacheType type = CacheType::float32;
  Index keys = 0;  // in elements; int8: with the scales, in bytes
  Index values = 0;
  Index length = 0;  // positions of the part
  Index hidden = 0;  // positions at the start that the queries do not see; less than a block
  Index width = 0;   // D
  float scale = 1;
  float cap = 0;          // soft cap of the scaled scores; 0: none
  float* sums = nullptr;  // [heads, attention_sums(D)], overwritten
  Index sums_stride = 0;  // from one head to the next
};

struct AttentionSteps {
  // Computes the sums of every head over a part.
  void (*attend)(const AttentionStep& step);
  // Computes a head's output [D] from its `count` parts, [count, attention_sums(width)].
  void (*merge)(const float* parts, Index count, Index width, float* output);
};

const AttentionSteps& attention_steps();

// Returns the elements that the keys or the values of a head take in a block of a cache, with their
// scales. A multiple of 64 bytes for every type.
constexpr Index cached_head(CacheType type, Index width) {
  constexpr Index kScaleBytes = 4;
  return kAttentionBlock * (type == CacheType::int8 ? width + kScaleBytes : width);
}

// Rounds the key or value of one position to 8 bits: number = x / scale to nearest, ties to even.
// The largest magnitude becomes 127. If a value is not finite, all are NaN afterwards.
void round_to_int8(const float* values, Index width, std::int8_t* numbers, float* scale);

}  // namespace headlight::kernels
