#pragma once

#include "headlight/base/choices.h"
#include "headlight/tensor/shape.h"

namespace headlight {

enum class ScheduleKind { constant, linear, cosine, wsd };

template <>
inline constexpr auto kChoices<ScheduleKind> =
    std::to_array<Choice<ScheduleKind>>({{"constant", ScheduleKind::constant},
                                         {"linear", ScheduleKind::linear},
                                         {"cosine", ScheduleKind::cosine},
                                         {"wsd", ScheduleKind::wsd}});

// Learning-rate schedule: a linear warm-up, a decay from learning_rate to min_learning_rate at step
// decay_steps, then constant. Cosine is nanoGPT's formula (Loshchilov and Hutter, arXiv 1608.03983,
// without restarts). wsd (warm-up, stable, decay; Hu et al., arXiv 2404.06395) stays at
// learning_rate until the last decay_fraction of decay_steps. It then falls as 1 minus the square
// root of the completed share. Haegele et al. (arXiv 2405.18392, section 3) find this better than a
// straight line, and a fifth of the steps as good as cosine.
struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double learning_rate = 6e-4;
  double min_learning_rate = 6e-5;  // constant: ignored
  Index warmup_steps = 0;
  Index decay_steps = 0;        // constant: ignored
  double decay_fraction = 0.2;  // wsd: 0 to 1, of decay_steps; others: ignored

  // Returns the last step at learning_rate: the end of the warm-up, or of wsd's stable part. Not
  // meaningful for a constant rate.
  Index decay_start() const;
  // Returns the learning rate of `step`, counted from 0.
  double at(Index step) const;
};

}  // namespace headlight
