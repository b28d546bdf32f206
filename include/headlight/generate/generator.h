#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/generate/decoder.h"
#include "headlight/generate/sampler.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/token_distribution.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// A token that was chosen, as the model itself saw it: by the softmax of its logits, before
// penalty, temperature and filters, over all V ids, also those that are never chosen.
struct TokenChoice {
  std::int32_t token = 0;
  double log_probability = 0;  // nats
  Index rank = 1;              // 1: the likeliest
  std::vector<TokenLogProbability> likeliest = {};
};

struct GenerateOptions {
  Index max_new_tokens = 500;
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};  // the text ends before the first of these
  // Tokens that end the text as the tokenizer's ends() do: a turn of a chat.
  std::vector<std::int32_t> end_tokens = {};
  // Never choose one of ends() or end_tokens, so that the text goes on to max_new_tokens.
  bool ignore_end_of_text = false;
  bool use_cache = true;  // false: compute every token from the whole window again; slower
  Index sample = 0;       // number of the text among several from one seed
  // Not none: tell what the model thought of every token that was chosen, and name so many of the
  // likeliest in its place. With more than one text at a time, on_choice is called for each in
  // turn.
  std::optional<Index> logprobs = {};
  std::function<void(const TokenChoice&)> on_choice = {};  // as soon as a token is chosen

  // Throws Error naming the first field that is out of range.
  void validate() const;
};

enum class FinishReason {
  length,       // max_new_tokens were made
  end_of_text,  // the model chose one of the tokenizer's ends() or of end_tokens
  stop,         // a stop text came
  cancelled,    // Engine::cancel
};

template <>
inline constexpr auto kChoices<FinishReason> =
    std::to_array<Choice<FinishReason>>({{"length", FinishReason::length},
                                         {"end_of_text", FinishReason::end_of_text},
                                         {"stop", FinishReason::stop},
                                         {"cancelled", FinishReason::cancelled}});

struct GenerateResult {
  // Every token that was chosen, a final <|endoftext|> and those of a stop text included.
  std::vector<std::int32_t> tokens;
  std::vector<TokenChoice> choices;  // of each token with GenerateOptions::logprobs, else none
  std::string text;                  // UTF-8, without the stop text
  FinishReason finish_reason = FinishReason::length;
  Index prompt_tokens = 0;            // <|endoftext|> included when it begins the prompt
  Index prompt_tokens_reused = 0;     // read before, for another request
  bool prompt_was_cut = false;        // the prompt was longer than the block
  double seconds_to_first_token = 0;  // reading the prompt and choosing one token
  double seconds = 0;                 // until the last token was chosen

  // Without reading the prompt: of the tokens after the first.
  double tokens_per_second() const;
};

// Continues a prompt; an empty one starts from <|endoftext|>. The prompt is encoded by
// Tokenizer::encode_prompt. The unknown token is never chosen.
//
// The model knows block_size positions. A context that grows longer than that, be it by the prompt
// or by the output, is cut to its last block_size / 2 tokens (rounded up), whose positions start
// from 0 again; then it grows until it is full again.
//
// `on_text` gets the text piece by piece as soon as it is certain: pieces never cut a character,
// and text that could be the beginning of a stop text waits until that is decided. The pieces
// joined are the result's text.
//
// Throws Error when an option is out of range, the prompt is not UTF-8, the tokenizer has more ids
// than the model, or the model gives logits that are not numbers.
GenerateResult generate(Decoder& decoder, const Tokenizer& tokenizer, std::string_view prompt,
                        const GenerateOptions& options = {},
                        const std::function<void(std::string_view piece)>& on_text = {});

// Continues a prompt of ids. No begin token is added.
GenerateResult generate(Decoder& decoder, const Tokenizer& tokenizer,
                        std::vector<std::int32_t> prompt, const GenerateOptions& options = {},
                        const std::function<void(std::string_view piece)>& on_text = {});

// The same with a float32 decoder made for this one text.
GenerateResult generate(const LanguageModel& model, const Tokenizer& tokenizer,
                        std::string_view prompt, const GenerateOptions& options = {},
                        const std::function<void(std::string_view piece)>& on_text = {});

// The texts of `count` samples from options.sample on, each as generate() makes it alone. The
// prompt is read once, and every pass over the weights serves all of them.
std::vector<GenerateResult> generate_samples(Decoder& decoder, const Tokenizer& tokenizer,
                                             std::string_view prompt,
                                             const GenerateOptions& options, Index count);
std::vector<GenerateResult> generate_samples(Decoder& decoder, const Tokenizer& tokenizer,
                                             std::vector<std::int32_t> prompt,
                                             const GenerateOptions& options, Index count);

}  // namespace headlight
