#include "datasets/batches/mixture.h"

#include <algorithm>

#include "datasets/batches/permutation.h"

namespace headlight {

Mixture::Mixture(const std::vector<Index>& weights, const RandomStream& random) : random_(random) {
  Index sum = 0;
  for (const Index weight : weights) {
    sum += weight;
    ends_.push_back(sum);
  }
}

Mixture::Draw Mixture::at(Index number) const {
  const Index size = ends_.back();
  const Index round = number / size;
  const Permutation order(size, random_.fork(static_cast<std::uint64_t>(round)));
  const Index slot = order(number % size);
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), slot);
  const Index begin = end == ends_.begin() ? 0 : *(end - 1);
  return {.source = static_cast<std::size_t>(end - ends_.begin()),
          .number = round * (*end - begin) + slot - begin};
}

}  // namespace headlight
