#include "headlight/generate/generator.h"

#include <chrono>

#include "generate/context_window.h"
#include "generate/stop_filter.h"
#include "headlight/text/streaming_decoder.h"
#include "headlight/text/utf8.h"

namespace headlight {
namespace {

using TextSink = std::function<void(std::string_view piece)>;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Turns tokens into text up to the first stop text.
class TextOutput {
 public:
  TextOutput(const Tokenizer& tokenizer, const std::vector<std::string>& stops,
             const TextSink& on_text)
      : decoder_(tokenizer), filter_(stops), on_text_(&on_text) {}

  void push(std::int32_t id) { emit(filter_.push(decoder_.push(id))); }
  void finish() {
    emit(filter_.push(decoder_.finish()));
    emit(filter_.finish());
  }
  bool stopped() const { return filter_.found(); }
  const std::string& text() const { return text_; }

 private:
  void emit(const std::string& piece) {
    text_ += piece;
    if (*on_text_ && !piece.empty()) {
      (*on_text_)(piece);
    }
  }

  StreamingDecoder decoder_;
  StopFilter filter_;
  const TextSink* on_text_;
  std::string text_;
};

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, std::string_view prompt) {
  std::vector<std::int32_t> tokens = tokenizer.encode_prompt(prompt);
  if (tokens.empty()) {
    tokens.push_back(tokenizer.end_of_text());
  }
  return tokens;
}

// A model may have more ids than its tokenizer, when V was rounded up for speed.
std::vector<std::int32_t> excluded_tokens(const Gpt& model, const Tokenizer& tokenizer,
                                          const GenerateOptions& options) {
  const Index known = tokenizer.vocab_size();
  const Index all = model.config().vocab_size;
  require(known <= all, "[generate] the tokenizer has ", known, " ids, the model only ", all);
  std::vector<std::int32_t> excluded;
  if (tokenizer.unknown().has_value()) {
    excluded.push_back(*tokenizer.unknown());
  }
  if (options.ignore_end_of_text) {
    excluded.push_back(tokenizer.end_of_text());
  }
  for (Index id = known; id < all; ++id) {
    excluded.push_back(static_cast<std::int32_t>(id));
  }
  return excluded;
}

}  // namespace

void GenerateOptions::validate() const {
  require(max_new_tokens >= 0, "max_new_tokens: expected a number from 0, got ", max_new_tokens);
  require(sample >= 0, "sample: expected a number from 0, got ", sample);
  for (const std::string& text : stop) {
    require(!text.empty(), "stop: expected a text, got an empty one");
    require_utf8(text, "stop");
  }
  sampling.validate();
}

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::end_of_text:
      return "end_of_text";
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      break;
  }
  return "length";
}

GenerateResult generate(const Gpt& model, const Tokenizer& tokenizer, std::string_view prompt,
                        const GenerateOptions& options, const TextSink& on_text) {
  const Stopwatch watch;
  options.validate();
  Sampler sampler(options.sampling, options.sample, excluded_tokens(model, tokenizer, options));
  std::vector<std::int32_t> history = prompt_tokens(tokenizer, prompt);
  GenerateResult result;
  result.prompt_tokens = static_cast<Index>(history.size());
  result.prompt_was_cut = result.prompt_tokens > model.config().block_size;
  ContextWindow window(model, history, options.use_cache);
  TextOutput output(tokenizer, options.stop, on_text);
  while (static_cast<Index>(result.tokens.size()) < options.max_new_tokens && !output.stopped()) {
    const std::int32_t id = sampler.next(window.next_logits(), history);
    if (result.tokens.empty()) {
      result.seconds_to_first_token = watch.seconds();
    }
    result.tokens.push_back(id);
    if (id == tokenizer.end_of_text()) {
      result.finish_reason = FinishReason::end_of_text;
      break;
    }
    history.push_back(id);
    window.append(id);
    output.push(id);
  }
  output.finish();
  if (output.stopped()) {
    result.finish_reason = FinishReason::stop;
  }
  result.text = output.text();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace headlight
