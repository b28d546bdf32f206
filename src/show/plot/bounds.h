#pragma once

#include <algorithm>
#include <limits>

namespace headlight {

// Range of a set of values. Empty at first: low > high.
struct Bounds {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Returns the position of `value` within the bounds: 0 at `low`, 1 at `high`.
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
  double at(double share) const { return low + share * (high - low); }
};

}  // namespace headlight
