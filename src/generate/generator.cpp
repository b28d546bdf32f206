#include "headlight/generate/generator.h"

#include <utility>

#include "headlight/base/utf8.h"
#include "headlight/generate/engine.h"

namespace headlight {
namespace {

using TextSink = std::function<void(std::string_view piece)>;
using StepSink = std::function<void(Index tokens)>;

std::vector<GenerateResult> run(Decoder& decoder, const Tokenizer& tokenizer,
                                std::vector<std::int32_t> prompt, const GenerateOptions& options,
                                Index count, const TextSink& on_text, const StepSink& on_step) {
  options.validate();
  std::vector<GenerateResult> results(static_cast<std::size_t>(count));
  Engine engine(decoder, tokenizer);
  engine.begin({.prompt = std::move(prompt),
                .options = options,
                .samples = count,
                .on_text =
                    [&](Index, std::string_view piece) {
                      if (on_text) {
                        on_text(piece);
                      }
                    },
                .on_end =
                    [&](Index sample, GenerateResult result) {
                      results[static_cast<std::size_t>(sample - options.sample)] =
                          std::move(result);
                    }});
  while (engine.step()) {
    if (on_step) {
      on_step(engine.status().tokens);
    }
  }
  return results;
}

}  // namespace

void GenerateOptions::validate() const {
  require_value(max_new_tokens >= 0, "max_new_tokens", "expected a number from 0, got ",
                max_new_tokens);
  require_value(min_new_tokens >= 0, "min_new_tokens", "expected a number from 0, got ",
                min_new_tokens);
  require_value(sample >= 0, "sample", "expected a number from 0, got ", sample);
  require_value(!logprobs.has_value() || *logprobs >= 0, "logprobs",
                "expected a number from 0, got ", logprobs.value_or(0));
  for (const std::string& text : stop) {
    require_value(!text.empty(), "stop", "expected a text, got an empty one");
    require_utf8_value(text, "stop");
  }
  sampling.validate();
}

double GenerateResult::tokens_per_second() const {
  const double count = static_cast<double>(tokens.size());
  const double rest = seconds - seconds_to_first_token;
  if (tokens.size() > 1 && rest > 0) {
    return (count - 1) / rest;
  }
  return seconds > 0 ? count / seconds : 0;
}

GenerateResult generate(Decoder& decoder, const Tokenizer& tokenizer, std::string_view prompt,
                        const GenerateOptions& options, const TextSink& on_text) {
  options.validate();
  return generate(decoder, tokenizer, tokenizer.encode_prompt(prompt), options, on_text);
}

GenerateResult generate(Decoder& decoder, const Tokenizer& tokenizer,
                        std::vector<std::int32_t> prompt, const GenerateOptions& options,
                        const TextSink& on_text) {
  return std::move(run(decoder, tokenizer, std::move(prompt), options, 1, on_text, {}).front());
}

std::vector<GenerateResult> generate_samples(Decoder& decoder, const Tokenizer& tokenizer,
                                             std::string_view prompt,
                                             const GenerateOptions& options, Index count) {
  return generate_samples(decoder, tokenizer, tokenizer.encode_prompt(prompt), options, count);
}

std::vector<GenerateResult> generate_samples(Decoder& decoder, const Tokenizer& tokenizer,
                                             std::vector<std::int32_t> prompt,
                                             const GenerateOptions& options, Index count,
                                             const StepSink& on_step) {
  require_value(count >= 0, "num_samples", "expected a number from 0, got ", count);
  return run(decoder, tokenizer, std::move(prompt), options, count, {}, on_step);
}

}  // namespace headlight
