#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// Positions of items laid end to end, found by their lengths. Sums before every item would take 8
// bytes an item. With more than kMost items, only the sums at regular intervals are kept, and the
// lengths in between are requested again.
class RunningSums {
 public:
  // Fills `lengths` with the lengths, not negative, of the items from `first` on.
  using Lengths = std::function<void(Index first, std::span<Index> lengths)>;

  static constexpr Index kMost = Index{1} << 16;

  // Requests the lengths of all items once.
  RunningSums(Index count, Lengths lengths);

  Index total() const { return sums_.back(); }

  // Sum of the lengths of the items before `item`, 0 ... count.
  Index before(Index item) const;

  struct Item {
    Index number = 0;
    Index before = 0;  // sum of the lengths of the items before it
  };
  // Returns the item that contains position `position`, 0 ... total() - 1.
  Item find(Index position) const;

 private:
  Index count_;
  Index stride_ = 1;  // items between two sums
  Lengths lengths_;
  std::vector<Index> sums_{0};  // sums before items 0, stride, 2 stride, ...; the last is the total
};

}  // namespace headlight
