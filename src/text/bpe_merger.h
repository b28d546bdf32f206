#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headlight/text/bpe_tokenizer.h"

namespace headlight {

// A merge, found by its pair.
struct RankedMerge {
  std::int32_t rank = -1;  // -1: this pair does not merge
  std::int32_t result = -1;
};

// The merges of a vocabulary by their pairs: open addressing, at most half full.
class MergeTable {
 public:
  explicit MergeTable(std::size_t count);

  // False when the pair is there already.
  bool insert(BpeMerge pair, RankedMerge merge);
  RankedMerge find(std::int32_t left, std::int32_t right) const;

 private:
  struct Entry {
    BpeMerge pair;
    RankedMerge merge;
  };
  std::size_t slot_of(std::int32_t left, std::int32_t right) const;

  std::vector<Entry> entries_;  // a power of two
  int shift_ = 0;
};

// Replaces the tokens `ids` of one piece by what is left when no more neighbours merge, and returns
// how many those are; they stand at the front. Time n log n for n tokens.
std::size_t merge_tokens(const MergeTable& merges, std::span<std::int32_t> ids);

}  // namespace headlight
