#pragma once

#include <algorithm>
#include <limits>

namespace headlight {

// What values span.
struct Bounds {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // 0 ... 1 within the bounds.
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
  double at(double share) const { return low + share * (high - low); }
};

}  // namespace headlight
