#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/interpret/scores/head_scores.h"
#include "headlight/runs/run.h"
#include "runs/logs/run_lines.h"

namespace headlight {

// Scores all heads every `interval` steps of a run; appends a JSON line to heads.jsonl in the run
// directory. Only reads the model, so training results are bit-identical with and without it.
class HeadTracker : public TrainObserver {
 public:
  // Interval 0: measures nothing. `warn` gets a line if a write fails and training continues.
  HeadTracker(Index interval, std::function<void(const std::string&)> warn)
      : interval_(interval), warn_(std::move(warn)) {}

  // Drops the lines of steps that the run will repeat, and scores a new model. Throws SaveError if
  // the file cannot be written. on_step() also throws it if on_save_error is stop.
  void on_start(const RunPlan& plan) override;
  void on_step(const StepMetrics& metrics) override;
  void on_rollback(const RollbackMetrics& metrics) override;
  void before_checkpoint() override;

 private:
  std::string measure(Index iteration, const double* loss) const;

  Index interval_;
  std::function<void(const std::string&)> warn_;
  const Gpt* model_ = nullptr;
  std::optional<RunLines> lines_;  // set by on_start() if heads are tracked
  std::vector<std::vector<std::int32_t>> text_;
  HeadScoreOptions options_;
};

}  // namespace headlight
