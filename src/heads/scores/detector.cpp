#include "heads/scores/detector.h"

#include <cmath>

namespace headlight {
namespace {

// Sums over the weights not excluded.
struct Overlap {
  double on_pattern = 0;  // weight where the pattern has a one
  double ones = 0;        // of the pattern
};

class Detector {
 public:
  Detector(const HeadMap& map, const DetectorOptions& options) : map_(map), options_(options) {
    for (Index query = 0; query < map.length(); ++query) {
      total_ += map.row_weight(query);
      total_ -= excluded(query, 0) ? map.weight(query, 0) : 0;
      total_ -= query > 0 && excluded(query, query) ? map.weight(query, query) : 0;
    }
  }

  double mul(const Overlap& overlap) const { return total_ > 0 ? overlap.on_pattern / total_ : 0; }
  // |w - 1| = 1 - w where the pattern has a one, |w| elsewhere.
  double abs(const Overlap& overlap) const {
    const double difference = overlap.ones + total_ - 2 * overlap.on_pattern;
    return 1 - std::round(difference / static_cast<double>(map_.length()) * 1000) / 1000;
  }

  Overlap previous() const {
    Overlap overlap;
    for (Index query = 1; query < map_.length(); ++query) {
      add(query, query - 1, overlap);
    }
    return overlap;
  }

  // Pattern with ones `shift` positions after earlier occurrences of the query's token.
  Overlap earlier_equals(Index shift) const {
    const std::vector<Index>& earlier = map_.facts().earlier_equal;
    Overlap overlap;
    for (Index query = 0; query < map_.length(); ++query) {
      for (Index place = earlier[static_cast<std::size_t>(query)]; place >= 0;
           place = earlier[static_cast<std::size_t>(place)]) {
        add(query, place + shift, overlap);
      }
    }
    return overlap;
  }

 private:
  bool excluded(Index query, Index key) const {
    return (options_.exclude_bos && key == 0) || (options_.exclude_current_token && key == query);
  }
  void add(Index query, Index key, Overlap& overlap) const {
    if (!excluded(query, key)) {
      overlap.on_pattern += map_.weight(query, key);
      overlap.ones += 1;
    }
  }

  const HeadMap& map_;
  const DetectorOptions& options_;
  double total_ = 0;
};

}  // namespace

DetectorNumbers detector_numbers(const HeadMap& map, const DetectorOptions& options) {
  const Detector detector(map, options);
  const Overlap previous = detector.previous();
  const Overlap duplicate = detector.earlier_equals(0);
  const Overlap induction = detector.earlier_equals(1);
  return {detector.mul(previous), detector.mul(duplicate), detector.mul(induction),
          detector.abs(previous), detector.abs(duplicate), detector.abs(induction)};
}

}  // namespace headlight
