#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// How often each of many short byte strings came. The strings lie in one block of memory, so that
// a million of them cost little more than their bytes.
class PieceCounter {
 public:
  PieceCounter();

  void add(std::string_view piece, Index count = 1);

  // Number of different pieces, numbered in the order of their first coming.
  std::size_t size() const { return entries_.size(); }
  std::string_view piece(std::size_t number) const;
  Index count(std::size_t number) const { return entries_[number].count; }

 private:
  struct Entry {
    std::size_t hash;
    std::size_t begin;  // in bytes_
    std::size_t length;
    Index count;
  };

  // The place of a piece in slots_: the one that names it, or the empty one where it belongs.
  std::size_t find_slot(std::string_view piece, std::size_t hash) const;
  void grow();

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> slots_;  // open addressing: number + 1, or 0 for empty; a power of two
};

}  // namespace headlight
