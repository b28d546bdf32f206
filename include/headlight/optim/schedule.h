#pragma once

#include <string_view>

#include "headlight/tensor/shape.h"

namespace headlight {

enum class ScheduleKind { constant, linear, cosine };

// "constant", "linear" or "cosine". Throws Error for other names.
ScheduleKind parse_schedule(std::string_view name);

// The learning rate of every step: a linear warm-up, then from learning_rate down to
// min_learning_rate at decay_steps, and that from there on. Cosine is nanoGPT's formula (Loshchilov
// and Hutter, arXiv 1608.03983, without restarts).
struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double learning_rate = 6e-4;
  double min_learning_rate = 6e-5;  // constant: ignored
  Index warmup_steps = 0;
  Index decay_steps = 0;  // constant: ignored

  // `step` counts from 0.
  double at(Index step) const;
};

}  // namespace headlight
