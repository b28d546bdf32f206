#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "headlight/nn/key_value_cache.h"

namespace headlight {

// Keys and values of prompts that were read, for prompts that begin alike. What is kept and given
// ends at multiples of `chunk` positions, where reading made a pause anyway: a prompt that goes on
// from there computes the same bits as one that is read from its beginning. When memory is needed,
// what has not been used for longest goes first.
class PrefixCache {
 public:
  // A multiple of KeyValueCache::kBlock.
  explicit PrefixCache(Index chunk) : chunk_(chunk) {}

  // Of the longest beginning of the prompt that is known, shorter than it and longer than `least`;
  // of length 0: none.
  KeyValueCache find(std::span<const std::int32_t> prompt, Index least = 0);
  // Keeps the keys and values of a prompt, or of its beginning.
  void keep(std::span<const std::int32_t> prompt, const KeyValueCache& cache);
  // Forgets until no more than so many tokens are left.
  void shrink(Index most);
  // That are kept. Some may share memory with others.
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
