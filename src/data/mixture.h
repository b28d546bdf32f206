#pragma once

#include <cstddef>
#include <vector>

#include "headlight/tensor/random.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// Which of several sources every draw comes from, by their weights. Draws come in rounds of as many
// as the weights' sum; in each every source comes as often as its weight says, in random order, so
// that no share ever drifts. A draw is a function of its number alone.
class Mixture {
 public:
  // There is a weight, and all are at least 1.
  Mixture(const std::vector<Index>& weights, const RandomStream& random);

  struct Draw {
    std::size_t source = 0;
    Index number = 0;  // of the draws from this source, from 0 on
  };
  // `number` is not negative.
  Draw at(Index number) const;

 private:
  std::vector<Index> ends_;  // sums of the weights up to each source, itself included
  RandomStream random_;
};

}  // namespace headlight
