#include "headlight/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headlight {

namespace {

// Returns the remaining share of the decay, from 1 to 0, when a share `done` is complete.
double share_left(ScheduleKind kind, double done) {
  switch (kind) {
    case ScheduleKind::cosine:
      return 0.5 * (1.0 + std::cos(std::numbers::pi * done));
    case ScheduleKind::wsd:
      return 1.0 - std::sqrt(done);
    case ScheduleKind::linear:
    case ScheduleKind::constant:
      break;
  }
  return 1.0 - done;
}

}  // namespace

Index LearningRateSchedule::decay_start() const {
  if (kind != ScheduleKind::wsd) {
    return warmup_steps;
  }
  const Index falling = std::llround(decay_fraction * static_cast<double>(decay_steps));
  return std::max(warmup_steps, decay_steps - falling);
}

double LearningRateSchedule::at(Index step) const {
  if (step < warmup_steps) {
    return learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
  }
  const Index start = decay_start();
  if (kind == ScheduleKind::constant || step < start) {
    return learning_rate;
  }
  if (step > decay_steps) {
    return min_learning_rate;
  }
  const Index span = decay_steps - start;
  const double done =
      span == 0 ? 1.0 : static_cast<double>(step - start) / static_cast<double>(span);
  return min_learning_rate + share_left(kind, done) * (learning_rate - min_learning_rate);
}

}  // namespace headlight
