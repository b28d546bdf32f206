#include "support/test.h"

// nanoGPT's get_lr, with its names.
double get_lr(Index it, const LearningRateSchedule& s) {
  const double learning_rate = s.learning_rate;
  const double min_lr = s.min_learning_rate;
  const auto warmup_iters = static_cast<double>(s.warmup_steps);
  const auto lr_decay_iters = static_cast<double>(s.decay_steps);
  const auto i = static_cast<double>(it);
  if (i < warmup_iters) {
    return learning_rate * (i + 1) / (warmup_iters + 1);
  }
  if (i > lr_decay_iters) {
    return min_lr;
  }
  const double decay_ratio = (i - warmup_iters) / (lr_decay_iters - warmup_iters);
  const double coeff = 0.5 * (1.0 + std::cos(std::numbers::pi * decay_ratio));
  return min_lr + coeff * (learning_rate - min_lr);
}

constexpr ScheduleKind kKinds[]{ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine,
                                ScheduleKind::wsd};

LearningRateSchedule schedule_of(ScheduleKind kind) {
  return {.kind = kind,
          .learning_rate = 1.0,
          .min_learning_rate = 0.2,
          .warmup_steps = 3,
          .decay_steps = 11};
}

TEST_CASE("the cosine schedule is nanoGPT's at every step") {
  for (const LearningRateSchedule& schedule :
       {LearningRateSchedule{.warmup_steps = 100, .decay_steps = 2000},
        LearningRateSchedule{.learning_rate = 1e-3,
        .min_learning_rate = 1e-4,
        .warmup_steps = 0,
        .decay_steps = 500},
        LearningRateSchedule{
            .learning_rate = 1, .min_learning_rate = 0, .warmup_steps = 7, .decay_steps = 8}}) {
    for (Index step = 0; step < 2100; ++step) {
      INFO("step " << step);
      CHECK(schedule.at(step) == Approx(get_lr(step, schedule)).epsilon(1e-14));
    }
  }
}

TEST_CASE("every schedule warms up linearly without starting at 0") {
  for (const ScheduleKind kind : kKinds) {
    const LearningRateSchedule schedule = schedule_of(kind);
    CHECK(schedule.at(0) == 0.25);
    CHECK(schedule.at(1) == 0.5);
    CHECK(schedule.at(2) == 0.75);
    CHECK(schedule.at(3) == 1.0);
  }
}

TEST_CASE("the constant schedule stays where the warm-up ended") {
  const LearningRateSchedule schedule = schedule_of(ScheduleKind::constant);
  for (const Index step : {3, 7, 11, 12, 1000000}) {
    CHECK(schedule.at(step) == 1.0);
  }
}

TEST_CASE("the linear schedule falls evenly to its minimum and stays there") {
  const LearningRateSchedule schedule = schedule_of(ScheduleKind::linear);
  for (Index step = 3; step <= 11; ++step) {
    CHECK(schedule.at(step) == Approx(1.0 - 0.1 * static_cast<double>(step - 3)).epsilon(1e-14));
  }
  CHECK(schedule.at(12) == 0.2);
  CHECK(schedule.at(1000000) == 0.2);
}

TEST_CASE("warm-up, stable, decay stays at the top and falls as 1 minus a root in the last part") {
  LearningRateSchedule schedule = schedule_of(ScheduleKind::wsd);
  schedule.decay_steps = 20;
  CHECK(schedule.decay_start() == 16);
  for (Index step = 3; step <= 16; ++step) {
    CHECK(schedule.at(step) == 1.0);
  }
  for (Index step = 17; step <= 20; ++step) {
    const double done = static_cast<double>(step - 16) / 4;
    CHECK(schedule.at(step) == Approx(0.2 + 0.8 * (1 - std::sqrt(done))).epsilon(1e-14));
  }
  CHECK(schedule.at(17) == Approx(0.6).epsilon(1e-14));
  CHECK(schedule.at(1000000) == 0.2);
  schedule.decay_fraction = 0;
  CHECK(schedule.at(19) == 1.0);
  CHECK(schedule.at(20) == 0.2);
  schedule.decay_fraction = 1;  // decay starts at the end of the warm-up
  CHECK(schedule.decay_start() == 3);
  CHECK(schedule.at(3) == 1.0);
  CHECK(schedule.at(4) < 1.0);
}

TEST_CASE("with warm-up stable decay a longer run equals a shorter one until that decays") {
  LearningRateSchedule shorter{.kind = ScheduleKind::wsd, .warmup_steps = 10, .decay_steps = 100};
  LearningRateSchedule longer = shorter;
  longer.decay_steps = 1000;
  for (Index step = 0; step <= 80; ++step) {
    CHECK(longer.at(step) == shorter.at(step));
  }
  CHECK(shorter.at(81) < longer.at(81));
}

TEST_CASE("a schedule whose decay ends with its warm-up is finite everywhere") {
  for (const ScheduleKind kind : {ScheduleKind::linear, ScheduleKind::cosine, ScheduleKind::wsd}) {
    LearningRateSchedule schedule = schedule_of(kind);
    schedule.decay_steps = 3;
    CHECK(schedule.at(2) == 0.75);
    CHECK(schedule.at(3) == Approx(0.2).epsilon(1e-14));
    CHECK(schedule.at(4) == 0.2);
    schedule.decay_steps = 1;  // shorter than the warm-up, which has priority
    CHECK(schedule.at(2) == 0.75);
    CHECK(schedule.at(3) == 0.2);
  }
}
