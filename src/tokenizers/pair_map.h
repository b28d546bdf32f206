#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "headlight/tokenizers/bpe_tokenizer.h"

namespace headlight {

// Hash table from pairs of tokens to values: open addressing, at most half full.
template <class Value>
class PairMap {
 public:
  explicit PairMap(std::size_t expected) { resize(std::bit_ceil(2 * expected + 2)); }

  // Returns the value of a pair; without one, Value{}.
  Value find(BpeMerge pair) const { return entries_[slot_of(pair)].value; }

  // Returns the value of a pair; adds Value{} if there is none. Valid until the next at().
  Value& at(BpeMerge pair) {
    std::size_t slot = slot_of(pair);
    if (entries_[slot].pair.left < 0) {
      if (2 * ++used_ > entries_.size()) {
        grow();
        slot = slot_of(pair);
      }
      entries_[slot].pair = pair;
    }
    return entries_[slot].value;
  }

 private:
  struct Entry {
    BpeMerge pair{.left = -1};  // left below 0: no pair
    Value value{};
  };

  std::size_t slot_of(BpeMerge pair) const {
    const auto key = std::uint64_t{static_cast<std::uint32_t>(pair.left)} << 32 |
                     static_cast<std::uint32_t>(pair.right);
    const std::uint64_t mixed = (key ^ key >> 29) * multiplier_;
    auto slot = static_cast<std::size_t>((mixed ^ mixed << 32) >> shift_);
    while (entries_[slot].pair.left >= 0 && entries_[slot].pair != pair) {
      slot = (slot + 1) & (entries_.size() - 1);
    }
    return slot;
  }

  void resize(std::size_t size) {
    entries_.assign(size, {});
    shift_ = 64 - std::countr_zero(size);
  }

  void grow() {
    const std::vector<Entry> old = std::move(entries_);
    resize(2 * old.size());
    for (const Entry& entry : old) {
      if (entry.pair.left >= 0) {
        entries_[slot_of(entry.pair)] = entry;
      }
    }
  }

  std::vector<Entry> entries_;  // the size is a power of two
  // Random and odd, so that nobody can choose pairs of equal slots for a file.
  std::uint64_t multiplier_ = process_key() | 1;
  int shift_ = 0;
  std::size_t used_ = 0;
};

}  // namespace headlight
