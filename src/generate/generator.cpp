#include "headlight/generate/generator.h"

#include <algorithm>
#include <utility>

#include "base/stopwatch.h"
#include "generate/text_sample.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Texts that are made side by side: enough to hide the reading of the weights, and few enough for
// their caches.
constexpr Index kTogether = 32;

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

// Makes the texts of one prompt, which is read once.
class TextBatch {
 public:
  // For the samples up to `last` - 1.
  TextBatch(Decoder& decoder, const TextPlan& plan, Index last, TextSink on_text)
      : decoder_(&decoder),
        plan_(&plan),
        last_(last),
        on_text_(std::move(on_text)),
        prompt_(decoder, plan.prompt, {.use_cache = plan.options->use_cache}) {
    if (plan.options->max_new_tokens > 0) {
      const std::span<const float> logits = prompt_.read();
      prompt_logits_.assign(logits.begin(), logits.end());
    }
    prompt_seconds_ = watch_.seconds();
  }

  // The texts of samples begin ... end - 1, side by side.
  void run(Index begin, Index end, std::vector<GenerateResult>& results) {
    watch_ = {};
    std::vector<TextSample> samples;
    for (Index number = begin; number < end; ++number) {
      ContextWindow window = number + 1 == last_ ? std::move(prompt_) : prompt_.fork();
      samples.emplace_back(*plan_, number, std::move(window), on_text_);
      if (!samples.back().finished()) {
        samples.back().take(prompt_logits_, seconds());
      }
    }
    while (advance(samples)) {
    }
    for (TextSample& sample : samples) {
      results.push_back(std::move(sample).result());
    }
  }

 private:
  // Since these texts were begun, and what reading the prompt took, which all of them share.
  double seconds() const { return prompt_seconds_ + watch_.seconds(); }

  // One more token for every text that goes on; false when there is none.
  bool advance(std::vector<TextSample>& samples) {
    stepping_.clear();
    items_.clear();
    reading_.clear();
    for (TextSample& sample : samples) {
      if (!sample.finished() && sample.window().can_step()) {
        stepping_.push_back(&sample);
        items_.push_back(sample.window().step_item());
      } else if (!sample.finished()) {
        reading_.push_back(&sample);
      }
    }
    if (!items_.empty()) {
      decoder_->step(items_);
    }
    for (std::size_t i = 0; i < stepping_.size(); ++i) {
      stepping_[i]->take(decoder_->logits(static_cast<Index>(i)), seconds());
    }
    for (TextSample* sample : reading_) {
      sample->take(sample->window().read(), seconds());
    }
    return !stepping_.empty() || !reading_.empty();
  }

  Stopwatch watch_;
  double prompt_seconds_ = 0;
  Decoder* decoder_;
  const TextPlan* plan_;
  Index last_;
  TextSink on_text_;
  ContextWindow prompt_;               // given to the last text
  std::vector<float> prompt_logits_;   // [V]
  std::vector<TextSample*> stepping_;  // texts whose next logits take one step
  std::vector<DecodeItem> items_;      // of stepping_
  std::vector<TextSample*> reading_;   // texts that must read their window
};

std::vector<GenerateResult> run(Decoder& decoder, const Tokenizer& tokenizer,
                                std::string_view prompt, const GenerateOptions& options,
                                Index count, const TextSink& on_text) {
  options.validate();
  const TextPlan plan{.tokenizer = &tokenizer,
                      .options = &options,
                      .prompt = prompt_tokens(tokenizer, prompt),
                      .excluded = excluded_tokens(decoder.model(), tokenizer, options)};
  const Index end = options.sample + count;
  TextBatch batch(decoder, plan, end, on_text);
  std::vector<GenerateResult> results;
  for (Index number = options.sample; number < end; number += kTogether) {
    batch.run(number, std::min(end, number + kTogether), results);
  }
  for (GenerateResult& result : results) {
    result.prompt_tokens = static_cast<Index>(plan.prompt.size());
    result.prompt_was_cut = result.prompt_tokens > decoder.model().config().block_size;
  }
  return results;
}

}  // namespace

void GenerateOptions::validate() const {
  require(max_new_tokens >= 0, "max_new_tokens: expected a number from 0, got ", max_new_tokens);
  require(sample >= 0, "sample: expected a number from 0, got ", sample);
  require(!logprobs.has_value() || *logprobs >= 0, "logprobs: expected a number from 0, got ",
          logprobs.value_or(0));
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
  return std::move(run(decoder, tokenizer, prompt, options, 1, on_text).front());
}

GenerateResult generate(const Gpt& model, const Tokenizer& tokenizer, std::string_view prompt,
                        const GenerateOptions& options, const TextSink& on_text) {
  Decoder decoder(model);
  return generate(decoder, tokenizer, prompt, options, on_text);
}

std::vector<GenerateResult> generate_samples(Decoder& decoder, const Tokenizer& tokenizer,
                                             std::string_view prompt,
                                             const GenerateOptions& options, Index count) {
  require(count >= 0, "num_samples: expected a number from 0, got ", count);
  return run(decoder, tokenizer, prompt, options, count, {});
}

}  // namespace headlight
