#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/head_scores.h"
#include "headlight/train/run.h"
#include "train/run_lines.h"

namespace headlight {

// Scores all heads every so many updates of a run and appends one JSON object a line to heads.jsonl
// in its directory. Reads the model only, so that training gives the same bits with and without it.
class HeadTracker : public TrainObserver {
 public:
  // Measures nothing when `interval` is 0. `warn` gets a line when the file cannot be written and
  // training goes on.
  HeadTracker(Index interval, std::function<void(const std::string&)> warn)
      : interval_(interval), warn_(std::move(warn)) {}

  // Drops the lines of updates that are about to be made again, and scores a new model. Throws
  // SaveError when the file cannot be written; so does on_step(), if on_save_error is stop.
  void on_start(const RunPlan& plan) override;
  void on_step(const StepMetrics& metrics) override;
  void on_rollback(const RollbackMetrics& metrics) override;
  void before_checkpoint() override;

 private:
  std::string measure(Index iteration, const double* loss) const;

  Index interval_;
  std::function<void(const std::string&)> warn_;
  const Gpt* model_ = nullptr;
  std::optional<RunLines> lines_;  // from on_start() on, when heads are tracked
  std::vector<std::vector<std::int32_t>> text_;
  HeadScoreOptions options_;
};

}  // namespace headlight
