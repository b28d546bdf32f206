#include "train/training_loop.h"

namespace headlight {

bool TrainingLoop::is_over() const {
  return trainer_.iteration() >= config_.max_iters || stopped_ || ended_early_;
}

bool TrainingLoop::step() {
  if (is_over()) {
    return false;
  }
  actions_.before_step();
  const StepMetrics metrics = trainer_.step();
  if (metrics.outcome == StepOutcome::unusable) {
    actions_.roll_back(metrics);
    return true;
  }
  actions_.after_step(metrics);
  stopped_ = actions_.stop_requested();
  if (!stopped_) {
    run_scheduled_actions();
  }
  return true;
}

bool TrainingLoop::evaluate() {
  const bool best = actions_.evaluate();
  ended_early_ = actions_.stops_early();
  return best;
}

void TrainingLoop::run_scheduled_actions() {
  const auto is_due = [&](Index interval) {
    return interval > 0 && trainer_.iteration() % interval == 0;
  };
  const bool evaluates = is_due(config_.eval_interval);
  const bool best = evaluates && evaluate();
  // The last step is saved after its evaluation, when the training ends.
  const bool saves = is_due(config_.save_interval) && trainer_.iteration() < config_.max_iters;
  if (best || (evaluates && config_.always_save_checkpoint) || saves) {
    actions_.save(best);
  }
  stopped_ = evaluates && actions_.stop_requested();
}

}  // namespace headlight
