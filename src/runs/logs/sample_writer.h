#pragma once

#include <functional>
#include <optional>
#include <string>

#include "headlight/generate/generator.h"
#include "headlight/runs/run.h"
#include "runs/logs/run_lines.h"

namespace headlight {

// Generates a text every sample_interval steps, with the same prompt and seed, and appends it to
// samples.jsonl in the run directory. Only reads the model, so that training gives the same bits
// with and without it.
class SampleWriter : public TrainObserver {
 public:
  // Reports to `warn` when the file cannot be written and training continues.
  explicit SampleWriter(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}

  // Throws SaveError when the file cannot be opened; on_step() does if on_save_error is stop.
  void on_start(const RunPlan& plan) override;
  void on_step(const StepMetrics& metrics) override;
  void on_rollback(const RollbackMetrics& metrics) override;
  void before_checkpoint() override;

 private:
  std::string sample(Index iteration) const;

  std::function<void(const std::string&)> warn_;
  const Gpt* model_ = nullptr;
  const Tokenizer* tokenizer_ = nullptr;
  const TrainConfig* config_ = nullptr;
  std::optional<RunLines> lines_;  // set by on_start() if sample_interval is not 0
};

}  // namespace headlight
