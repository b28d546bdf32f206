#pragma once

#include <filesystem>

#include "headlight/train/run.h"

namespace headlight {

// Appends one JSON object a line to metrics.jsonl: every update and every evaluation.
class MetricsLog : public TrainObserver {
 public:
  // Lines of updates that are about to be made again (from `first_iteration` on) are dropped first.
  MetricsLog(const std::filesystem::path& path, Index first_iteration);

  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const EvaluationMetrics& metrics) override;

 private:
  void append(const std::string& line);

  std::filesystem::path path_;
};

}  // namespace headlight
