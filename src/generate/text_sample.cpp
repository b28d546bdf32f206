#include "generate/text_sample.h"

#include <utility>

namespace headlight {

TextOutput::TextOutput(const Tokenizer& tokenizer, const std::vector<std::string>& stops,
                       TextSink on_text)
    : decoder_(tokenizer), filter_(stops), on_text_(std::move(on_text)) {}

void TextOutput::finish() {
  emit(filter_.push(decoder_.finish()));
  emit(filter_.finish());
}

void TextOutput::emit(const std::string& piece) {
  text_ += piece;
  if (on_text_ && !piece.empty()) {
    on_text_(piece);
  }
}

TextSample::TextSample(const TextPlan& plan, Index number, ContextWindow window, TextSink on_text)
    : plan_(&plan),
      sampler_(plan.options->sampling, number, plan.excluded),
      history_(plan.prompt),
      window_(std::move(window)),
      output_(*plan.tokenizer, plan.options->stop, std::move(on_text)) {
  finished_ = plan.options->max_new_tokens == 0;
}

void TextSample::take(std::span<const float> logits, double seconds) {
  const std::int32_t id = sampler_.next(logits, history_);
  if (plan_->options->logprobs.has_value()) {
    judge(logits, id);
  }
  if (result_.tokens.empty()) {
    result_.seconds_to_first_token = seconds;
  }
  result_.seconds = seconds;
  result_.tokens.push_back(id);
  finished_ = must_end(id);
}

void TextSample::judge(std::span<const float> logits, std::int32_t id) {
  const TokenDistribution expected(logits);
  result_.choices.push_back({.token = id,
                             .log_probability = expected.log_probability(id),
                             .rank = expected.rank(id),
                             .likeliest = expected.likeliest(*plan_->options->logprobs)});
  if (plan_->options->on_choice) {
    plan_->options->on_choice(result_.choices.back());
  }
}

bool TextSample::must_end(std::int32_t id) {
  if (id == plan_->tokenizer->end_of_text()) {
    result_.finish_reason = FinishReason::end_of_text;
    return true;
  }
  history_.push_back(id);
  window_.append(id);
  output_.push(id);
  return output_.stopped() ||
         static_cast<Index>(result_.tokens.size()) == plan_->options->max_new_tokens;
}

GenerateResult TextSample::result() && {
  output_.finish();
  if (output_.stopped()) {
    result_.finish_reason = FinishReason::stop;
  }
  result_.text = output_.text();
  return std::move(result_);
}

}  // namespace headlight
