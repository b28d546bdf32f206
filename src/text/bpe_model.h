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

// Rank and result of the merge of one pair of tokens.
struct RankedMerge {
  std::int32_t rank = -1;  // -1: this pair does not merge
  std::int32_t result = -1;
};

// Hash table from token pairs to merges: open addressing, at most half full.
class MergeTable {
 public:
  explicit MergeTable(std::size_t count) : entries_(std::bit_ceil(2 * count + 2)) {
    shift_ = 64 - std::countr_zero(entries_.size());
  }

  // Replaces any earlier merge of the pair.
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

  std::vector<Entry> entries_;  // the size is a power of two
  int shift_ = 0;
};

// BPE model that splits one piece of text into tokens. The initial tokens are the piece's bytes or
// its characters; merges then join them.
struct BpeModel {
  explicit BpeModel(std::size_t merge_count) : merges(merge_count) { byte_ids.fill(-1); }

  MergeTable merges;
  // Ids of the 256 single-byte tokens; -1: none. With `characters`, a character without a token
  // falls back to its bytes.
  std::array<std::int32_t, 256> byte_ids{};
  bool characters = false;
  bool every_byte = true;     // none of byte_ids is -1
  bool whole_pieces = false;  // a piece that is itself a token is not split, whatever its merges
  std::int32_t unknown = -1;  // id for text without a token; -1: such text is dropped
  bool fuse_unknown = false;  // adjacent unknown texts give one unknown id
  // Token ids by text. Filled only for `characters` and `whole_pieces`.
  std::unordered_map<std::string_view, std::int32_t> ids = {};
};

// Appends the token ids of one piece to `ids`.
void append_tokens(const BpeModel& model, std::string_view piece, std::vector<std::int32_t>& ids);

}  // namespace headlight
