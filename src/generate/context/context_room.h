#pragma once

#include <memory>

#include "generate/prefix_cache.h"

namespace headlight {

// Memory for the keys and values of all texts, in blocks of 64 positions that a text takes as it
// grows. The beginnings of earlier prompts fill the rest.
class ContextRoom {
 public:
  // `tokens`: the positions that fit; 0: no limit. `chunk`: see PrefixCache.
  ContextRoom(Index tokens, Index chunk);

  bool is_limited() const { return blocks_ > 0; }
  // Adds the blocks of a cache to the count.
  void count(KeyValueCache& cache) const { cache.count_blocks(used_); }
  // Returns whether `positions` fit. Drops beginnings of earlier prompts for them, those used least
  // recently first.
  bool make_room(Index positions);
  // Allocates memory for `positions` more positions of a counted cache if they fit and `spare` more
  // do: see make_room().
  bool reserve(KeyValueCache& cache, Index positions, Index spare = 0);
  // Returns the positions in use, by texts and kept prompts, in whole blocks.
  Index used_tokens() const { return *used_ * KeyValueCache::kBlock; }
  PrefixCache& prefixes() { return prefixes_; }
  const PrefixCache& prefixes() const { return prefixes_; }

 private:
  Index blocks_;
  std::shared_ptr<Index> used_ = std::make_shared<Index>(0);
  PrefixCache prefixes_;
};

}  // namespace headlight
