#pragma once

#include <string>

#include "base/stopwatch.h"

namespace headlight::cli {

// A bar on stderr that shows how much of some work is done and how long the rest takes; nothing
// when stderr is not a terminal. It disappears when the work is done.
class CountProgress {
 public:
  explicit CountProgress(std::string label);
  ~CountProgress();
  CountProgress(const CountProgress&) = delete;
  CountProgress& operator=(const CountProgress&) = delete;

  // 0 to 1; draws at most ten times a second.
  void show(double share);

 private:
  void clear();

  std::string label_;
  bool terminal_ = false;
  bool shown_ = false;
  Stopwatch watch_;
  double drawn_at_ = 0;  // seconds since the start
};

}  // namespace headlight::cli
