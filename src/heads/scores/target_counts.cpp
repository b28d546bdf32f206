#include "heads/scores/target_counts.h"

#include <algorithm>

#include "headlight/ops/cross_entropy.h"

namespace headlight {

std::vector<double> target_counts(const Batch& batch) {
  const std::int32_t* targets = batch.targets.data<std::int32_t>();
  std::vector<double> counts;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    const auto ignored =
        std::count(targets + batch.offsets[b], targets + batch.offsets[b + 1], kIgnoreTarget);
    counts.push_back(static_cast<double>(batch.offsets[b + 1] - batch.offsets[b] - ignored));
  }
  return counts;
}

}  // namespace headlight
