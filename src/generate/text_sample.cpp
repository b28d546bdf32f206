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
  if (result_.tokens.empty()) {
    result_.seconds_to_first_token = seconds;
  }
  result_.seconds = seconds;
  result_.tokens.push_back(id);
  finished_ = must_end(id);
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
