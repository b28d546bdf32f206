#pragma once

#include <algorithm>

#include "headlight/nn/architecture.h"
#include "headlight/nn/key_value_cache.h"

namespace headlight {

// Division of the context of one query into parts, which threads compute apart. It depends only on
// the length, so that the bits depend on neither the threads nor the other sequences.
struct ContextParts {
  // Maximum number of parts: enough to share one key head among many threads.
  static constexpr Index kMost = 32;
  // Minimum blocks per part: a part reads 100 times as many bytes as its sums take.
  static constexpr Index kFewestBlocks = 2;

  Index length = 0;          // positions from the first block that the query sees
  Index before = 0;          // blocks of the cache before it
  Index hidden = 0;          // positions of the first block that a sliding window hides
  Index blocks = 0;          // blocks with positions that the query sees
  Index blocks_of_part = 1;  // of every part but the last

  // Divides the first `length` positions of a sequence for the query at the last one.
  ContextParts(const AttentionPlan& plan, Index positions) {
    constexpr Index kBlock = KeyValueCache::kBlock;
    const Index first = plan.window > 0 ? std::max<Index>(0, positions - plan.window) : 0;
    before = first / kBlock;
    length = positions - before * kBlock;
    hidden = first - before * kBlock;
    blocks = (length + kBlock - 1) / kBlock;
    blocks_of_part = std::max(kFewestBlocks, (blocks + kMost - 1) / kMost);
  }

  Index count() const { return (blocks + blocks_of_part - 1) / blocks_of_part; }

  // Returns the maximum number of parts of sequences up to `length` positions.
  static Index most(Index length) {
    const Index part = kFewestBlocks * KeyValueCache::kBlock;
    return std::min(kMost, (length + part - 1) / part);
  }
};

}  // namespace headlight
