#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "headlight/nn/key_value_cache.h"

namespace headlight {

// Keys and values of prompts, for reuse by prompts with the same beginning. Entries end at
// multiples of `chunk` positions, where reading pauses anyway: a prompt that continues from there
// gives the same bits as one read from the beginning. Drops the least recently used entries first.
class PrefixCache {
 public:
  // `chunk` must be a multiple of KeyValueCache::kBlock.
  explicit PrefixCache(Index chunk) : chunk_(chunk) {}

  // Returns the cache of the longest stored beginning of the prompt that is longer than `least` and
  // shorter than the prompt; a cache of length 0 if there is none.
  KeyValueCache find(std::span<const std::int32_t> prompt, Index least = 0);
  // Stores the keys and values of a prompt or of its beginning.
  void keep(std::span<const std::int32_t> prompt, const KeyValueCache& cache);
  // Drops the entry that was used least recently. Returns false if there is none.
  bool drop_oldest();
  // Returns the sum of the entries' tokens; entries with a common beginning may share its memory.
  Index tokens() const { return tokens_; }

 private:
  struct Entry {
    std::vector<std::int32_t> tokens;
    KeyValueCache cache;
  };

  Index chunk_;
  Index tokens_ = 0;
  std::list<Entry> entries_;  // the one used last is the first
};

}  // namespace headlight
