#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// Where items lie that are laid end to end, found by their lengths. The sums of the lengths before
// every item would take eight bytes an item; of more than kMost, only those before every so many
// are kept, and the lengths in between are asked for again.
class RunningSums {
 public:
  // Fills `lengths`, not negative, of the items from `first` on.
  using Lengths = std::function<void(Index first, std::span<Index> lengths)>;

  static constexpr Index kMost = Index{1} << 16;

  // Asks for the lengths of all items once.
  RunningSums(Index count, Lengths lengths);

  Index total() const { return sums_.back(); }

  // Sum of the lengths of the items before `item`, 0 ... count.
  Index before(Index item) const;

  struct Item {
    Index number = 0;
    Index before = 0;  // sum of the lengths of the items before it
  };
  // The item in which `place` lies, of 0 ... total() - 1.
  Item find(Index place) const;

 private:
  Index count_;
  Index stride_ = 1;  // items between two sums
  Lengths lengths_;
  std::vector<Index> sums_{0};  // before items 0, stride, 2 stride, ..., and of all
};

}  // namespace headlight
