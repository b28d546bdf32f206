#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "headlight/train/run.h"

namespace headlight {

// Appends one JSON object a line to metrics.jsonl: every update, every evaluation, every return to
// a checkpoint. A line that the disk does not take is kept and written before the next one.
class MetricsLog : public TrainObserver {
 public:
  using OnFailure = std::function<void(const Error&)>;

  // `begin` is where the run begins or goes on: lines about what comes after it are dropped first.
  // Failures to write lines go to `on_failure`, which may throw.
  MetricsLog(std::filesystem::path path, const TrainingState& begin, OnFailure on_failure);
  ~MetricsLog() override;
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  // Drops the lines about what comes after this state, as if it had not been. Throws SaveError.
  void cut(const TrainingState& state);
  // Waits until the lines are on the disk. Throws Error when that fails.
  void flush() const;

  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const EvaluationMetrics& metrics) override;
  void on_rollback(const RollbackMetrics& metrics) override;

 private:
  void append(const std::string& line);
  void write_waiting();
  void open();

  std::filesystem::path path_;
  OnFailure on_failure_;
  int descriptor_ = -1;
  std::string waiting_;  // lines, or the rest of one, that are not in the file yet
};

}  // namespace headlight
