#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/stopwatch.h"
#include "files/line_log.h"
#include "headlight/train/run.h"

namespace headlight {

// A line of metrics.jsonl as it is read again. Numbers that it lacks are NaN.
struct MetricsLine {
  enum class Kind { step, evaluation, rollback, other };

  Kind kind = Kind::step;
  Index iteration = 0;
  double loss = 0;           // of the update, or in validation
  double bits_per_byte = 0;  // in validation
  double tokens = 0;         // that the update learned from
  double seconds = 0;        // that the update or evaluation took
  double elapsed = 0;        // seconds since the run began
  bool skipped = false;      // the update was left out
};

// None for a line that is damaged or cut off: no JSON object.
std::optional<MetricsLine> parse_metrics_line(const std::string& line);

// Seconds that a run has taken until the last line that was added: the log says it, or, if it is of
// an older version, the updates and evaluations alone.
class ElapsedSeconds {
 public:
  void add(const MetricsLine& line);
  double total() const { return total_; }
  // False when some lines did not say it.
  bool is_known() const { return known_; }

 private:
  double total_ = 0;
  bool known_ = true;
};

// Appends one JSON object a line to metrics.jsonl: every update, every evaluation, every return to
// a checkpoint, every change of settings that changes what updates do. "elapsed_seconds" counts
// from the begin of the run through all its processes, but what a killed one did after its last
// checkpoint. A line that the disk does not take is kept and written before the next one.
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
  double elapsed() const { return before_ + watch_.seconds(); }

  std::optional<LineLog> lines_;  // always there
  double before_ = 0;             // seconds of the processes before this
  Stopwatch watch_;
};

}  // namespace headlight
