#pragma once

#include <cstddef>
#include <vector>

#include "headlight/tensor/random.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// Random choice of a source for every draw, by weight. A round has as many draws as the sum of the
// weights; in it, each source occurs exactly as often as its weight, in random order. So shares
// never drift. A draw depends only on its number.
class Mixture {
 public:
  // The caller ensures that there is at least one weight and that all weights are at least 1.
  Mixture(const std::vector<Index>& weights, const RandomStream& random);

  struct Draw {
    std::size_t source = 0;
    Index number = 0;  // index among the draws from this source, from 0
  };
  // `number` must not be negative.
  Draw at(Index number) const;

 private:
  std::vector<Index> ends_;  // sums of the weights up to each source, itself included
  RandomStream random_;
};

}  // namespace headlight
