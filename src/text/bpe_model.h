#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
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
  explicit MergeTable(std::size_t count) : entries_(std::bit_ceil(2 * count + 2)) {
    shift_ = 64 - std::countr_zero(entries_.size());
  }

  // Whatever the pair had before.
  void set(BpeMerge pair, RankedMerge merge) {
    entries_[slot_of(pair.left, pair.right)] = {pair, merge};
  }

  RankedMerge find(std::int32_t left, std::int32_t right) const {
    return entries_[slot_of(left, right)].merge;
  }

 private:
  struct Entry {
    BpeMerge pair;
    RankedMerge merge;
  };

  std::size_t slot_of(std::int32_t left, std::int32_t right) const {
    const auto key =
        std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    // Fibonacci hashing: the multiplier is 2^64 divided by the golden ratio.
    const std::uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15U;
    std::size_t slot = static_cast<std::size_t>((mixed ^ mixed << 32) >> shift_);
    while (entries_[slot].merge.rank >= 0 &&
           (entries_[slot].pair.left != left || entries_[slot].pair.right != right)) {
      slot = (slot + 1) & (entries_.size() - 1);
    }
    return slot;
  }

  std::vector<Entry> entries_;  // a power of two
  int shift_ = 0;
};

// What turns one piece of text into tokens: the first tokens are the piece's bytes, or its
// characters, and merge.
struct BpeModel {
  explicit BpeModel(std::size_t merge_count) : merges(merge_count) { byte_ids.fill(-1); }

  MergeTable merges;
  // Of single bytes, -1: none. Where the first tokens are characters, those that are no token
  // become their bytes.
  std::array<std::int32_t, 256> byte_ids{};
  bool characters = false;
  bool every_byte = true;     // none of byte_ids is -1
  bool whole_pieces = false;  // a piece that is a token is that token, whatever the merges say
  std::int32_t unknown = -1;  // what stands for text that is no token; -1: nothing does
  bool fuse_unknown = false;  // one for all that stand side by side
  // By the text of tokens. Needed for characters and whole pieces.
  std::unordered_map<std::string_view, std::int32_t> ids = {};
};

// Appends the tokens of one piece.
void append_tokens(const BpeModel& model, std::string_view piece, std::vector<std::int32_t>& ids);

}  // namespace headlight
