#include "interpret/scores/detector.h"

#include <cmath>

namespace headlight {
namespace {

// Sums over the weights not excluded.
struct Overlap {
  double on_pattern = 0;  // weight where the pattern has a one
  double ones = 0;        // of the pattern
};

}  // namespace

DetectorNumbers detector_numbers(const HeadMap& map, const HeadScoreOptions& options) {
  const auto excluded = [&](Index query, Index key) {
    return (options.exclude_bos && key == 0) || (options.exclude_current_token && key == query);
  };
  const auto add = [&](Index query, Index key, Overlap& overlap) {
    if (!excluded(query, key)) {
      overlap.on_pattern += map.weight(query, key);
      overlap.ones += 1;
    }
  };
  const std::vector<Index>& earlier = map.facts().earlier_equal;
  std::array<Overlap, 3> overlaps;  // with previous, duplicate and induction tokens
  double total = 0;
  for (Index query = 0; query < map.length(); ++query) {
    total += map.sums(query).weight;
    total -= excluded(query, 0) ? map.weight(query, 0) : 0;
    if (query > 0) {
      total -= excluded(query, query) ? map.weight(query, query) : 0;
      add(query, query - 1, overlaps[0]);
    }
    for (Index position = earlier[static_cast<std::size_t>(query)]; position >= 0;
         position = earlier[static_cast<std::size_t>(position)]) {
      add(query, position, overlaps[1]);
      add(query, position + 1, overlaps[2]);
    }
  }
  DetectorNumbers numbers;
  for (std::size_t i = 0; i < overlaps.size(); ++i) {
    const auto& [on_pattern, ones] = overlaps[i];
    numbers[i] = total > 0 ? on_pattern / total : 0;
    // |w - 1| = 1 - w where the pattern has a one, |w| elsewhere.
    const double difference = ones + total - 2 * on_pattern;
    numbers[overlaps.size() + i] =
        1 - std::round(difference / static_cast<double>(map.length()) * 1000) / 1000;
  }
  return numbers;
}

}  // namespace headlight
