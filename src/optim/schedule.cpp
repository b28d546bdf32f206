#include "headlight/optim/schedule.h"

#include <cmath>
#include <numbers>

namespace headlight {

double LearningRateSchedule::at(Index step) const {
  if (step < warmup_steps) {
    return learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
  }
  if (kind == ScheduleKind::constant) {
    return learning_rate;
  }
  if (step > decay_steps) {
    return min_learning_rate;
  }
  const Index span = decay_steps - warmup_steps;
  const double done =
      span == 0 ? 1.0 : static_cast<double>(step - warmup_steps) / static_cast<double>(span);
  const double share =
      kind == ScheduleKind::cosine ? 0.5 * (1.0 + std::cos(std::numbers::pi * done)) : 1.0 - done;
  return min_learning_rate + share * (learning_rate - min_learning_rate);
}

}  // namespace headlight
