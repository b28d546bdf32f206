#include "runs/logs/sample_writer.h"

#include "base/json.h"
#include "headlight/formats/run_layout.h"

namespace headlight {

void SampleWriter::on_start(const RunPlan& plan) {
  const TrainConfig& config = plan.config;
  if (config.sample_interval == 0) {
    RunLines::forget_killed_run(plan, kRunSamples);
    return;
  }
  model_ = &plan.model;
  tokenizer_ = &plan.tokenizer;
  config_ = &config;
  lines_.emplace(plan, kRunSamples, warn_);
}

void SampleWriter::on_step(const StepMetrics& metrics) {
  const Index updates = metrics.iteration + 1;
  if (lines_ && updates % config_->sample_interval == 0) {
    lines_->append(sample(updates));
  }
}

void SampleWriter::on_rollback(const RollbackMetrics& metrics) {
  if (lines_) {
    lines_->roll_back(metrics.iteration);
  }
}

void SampleWriter::before_checkpoint() {
  if (lines_) {
    lines_->flush();
  }
}

std::string SampleWriter::sample(Index iteration) const {
  Decoder decoder(*model_);
  const std::string& prompt = config_->sample_prompt;
  GenerateOptions options;
  options.max_new_tokens = config_->sample_tokens;
  options.sampling.seed = static_cast<std::uint64_t>(config_->seed);
  const GenerateResult result = generate(decoder, *tokenizer_, prompt, options);
  return Json{{"iteration", iteration}, {"prompt", prompt}, {"text", prompt + result.text}}.dump();
}

}  // namespace headlight
