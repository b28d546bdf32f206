#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "headlight/train/run.h"
#include "io/line_log.h"

namespace headlight {

// Appends one JSON object a line to metrics.jsonl: every update, every evaluation, every return to
// a checkpoint, every change of settings that changes what updates do. A line that the disk does
// not take is kept and written before the next one.
class MetricsLog : public TrainObserver {
 public:
  // `begin` is where the run begins or goes on: lines about what comes after it are dropped first.
  // Failures to write lines go to `on_failure`, which may throw.
  MetricsLog(std::filesystem::path path, const TrainingState& begin, LineLog::OnFailure on_failure);

  // Drops the lines about what comes after this state, as if it had not been, but those of earlier
  // returns to it. Throws SaveError.
  void cut(const TrainingState& state);

  void on_start(const RunPlan& plan) override;
  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const EvaluationMetrics& metrics) override;
  void on_rollback(const RollbackMetrics& metrics) override;
  void before_checkpoint() override { lines_->flush(); }

 private:
  void append_changes(Index iteration, const std::vector<SettingChange>& changes);

  std::optional<LineLog> lines_;  // always there
};

}  // namespace headlight
