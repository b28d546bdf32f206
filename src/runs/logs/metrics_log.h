#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "headlight/runs/run.h"
#include "runs/logs/metrics_copy.h"
#include "storage/line_log.h"

namespace headlight {

// A parsed line of metrics.jsonl. Missing numbers are NaN.
struct MetricsLine {
  enum class Kind { step, evaluation, rollback, other };

  Kind kind = Kind::step;
  Index iteration = 0;       // -1: missing
  double loss = 0;           // training loss of the step, or validation loss
  double bits_per_byte = 0;  // in validation
  double tokens = 0;         // targets of the step
  double seconds = 0;        // duration of the step or evaluation
  double elapsed = 0;        // seconds since the run began
  bool skipped = false;      // the step was skipped
};

// Returns nullopt for a damaged or truncated line, which is not a JSON object.
std::optional<MetricsLine> parse_metrics_line(const std::string& line);

// Formats of metrics besides metrics.jsonl.
struct MetricsFormats {
  bool csv = false;
  bool tensorboard = false;
};

// Writes metrics.jsonl, one JSON object a line: steps, evaluations, rollbacks, and changes of
// settings that affect steps. "elapsed_seconds" adds up all processes of the run, except the time
// of a killed process after its last checkpoint. Keeps a line that cannot be written and writes it
// before the next one.
class MetricsLog : public TrainObserver {
 public:
  // Continues the log in the directory `run` at state `begin` and drops lines after that state.
  // Reports write errors to `on_failure`, which may throw.
  MetricsLog(const std::filesystem::path& run, const TrainingState& begin,
             const MetricsFormats& formats, const LineLog::OnFailure& on_failure);

  // Drops the lines after this state, except earlier rollbacks to it. Throws SaveError.
  void cut(const TrainingState& state);

  void on_start(const RunPlan& plan) override;
  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const EvaluationMetrics& metrics) override;
  void on_rollback(const RollbackMetrics& metrics) override;
  void before_checkpoint() override { lines_->flush(); }

 private:
  void append(const Json& line);
  void restart_copies();
  void append_changes(Index iteration, const std::vector<SettingChange>& changes);
  double elapsed() const { return before_ + watch_.seconds(); }

  std::filesystem::path path_;
  std::optional<LineLog> lines_;  // always has a value
  std::vector<MetricsCopy> copies_;
  double before_ = 0;  // seconds of earlier processes of the run
  Stopwatch watch_;
};

}  // namespace headlight
