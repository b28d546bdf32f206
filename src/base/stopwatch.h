#pragma once

#include <chrono>
#include <utility>

#include "headlight/base/index.h"

namespace headlight {

inline Index seconds_since_1970() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

// Measures time from its construction on.
class Stopwatch {
 public:
  double seconds() const { return seconds_between(start_, Clock::now()); }
  // Returns the seconds so far and restarts.
  double lap() {
    const Clock::time_point now = Clock::now();
    return seconds_between(std::exchange(start_, now), now);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  Clock::time_point start_ = Clock::now();
};

}  // namespace headlight
