#pragma once

#include "headlight/base/choices.h"
#include "headlight/tensor/shape.h"

namespace headlight {

enum class ScheduleKind { constant, linear, cosine };

template <>
inline constexpr auto kChoices<ScheduleKind> =
    std::to_array<Choice<ScheduleKind>>({{"constant", ScheduleKind::constant},
                                         {"linear", ScheduleKind::linear},
                                         {"cosine", ScheduleKind::cosine}});

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
