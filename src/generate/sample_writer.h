#pragma once

#include <functional>
#include <optional>
#include <string>

#include "headlight/generate/generator.h"
#include "headlight/train/run.h"
#include "train/run_lines.h"

namespace headlight {

// Lets the model of a run write a text every sample_interval updates, from the same prompt and
// seed, and appends it to samples.jsonl in its directory. Reads the model only, so that training
// gives the same bits with and without it.
class SampleWriter : public TrainObserver {
 public:
  // `warn` gets a line when the file cannot be written and training goes on.
  explicit SampleWriter(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}

  // Throws SaveError when the file cannot be written; so does on_step(), if on_save_error is stop.
  void on_start(const RunPlan& plan) override;
  void on_step(const StepMetrics& metrics) override;
  void on_rollback(const RollbackMetrics& metrics) override;
  void before_checkpoint() override;

 private:
  std::string sample(Index iteration) const;

  std::function<void(const std::string&)> warn_;
  const Gpt* model_ = nullptr;
  const Tokenizer* tokenizer_ = nullptr;
  Index interval_ = 0;
  std::string prompt_;
  GenerateOptions options_;
  std::optional<RunLines> lines_;  // from on_start() on, when samples are asked for
};

}  // namespace headlight
