#include "runs/sample_writer.h"

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
  interval_ = config.sample_interval;
  prompt_ = config.sample_prompt;
  options_.max_new_tokens = config.sample_tokens;
  options_.sampling.seed = static_cast<std::uint64_t>(config.seed);
  lines_.emplace(plan, kRunSamples, warn_);
}

void SampleWriter::on_step(const StepMetrics& metrics) {
  const Index updates = metrics.iteration + 1;
  if (lines_ && updates % interval_ == 0) {
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
  const GenerateResult result = generate(decoder, *tokenizer_, prompt_, options_);
  return Json{{"iteration", iteration}, {"prompt", prompt_}, {"text", prompt_ + result.text}}
      .dump();
}

}  // namespace headlight
