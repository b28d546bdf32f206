#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/base/shared_list.h"
#include "headlight/generate/decoder.h"
#include "headlight/generate/grammar.h"
#include "headlight/generate/sampler.h"
#include "headlight/generate/speculation.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/token_distribution.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// A chosen token with the model's own prediction: the softmax of the logits over all V ids, before
// penalties, temperature and filters, including ids that are never chosen.
struct TokenChoice {
  std::int32_t token = 0;
  double log_probability = 0;  // nats
  Index rank = 1;              // 1: the most likely
  std::vector<TokenLogProbability> likeliest = {};
};

struct GenerateOptions {
  Index max_new_tokens = 500;
  Index min_new_tokens = 0;  // before a token that ends the text, unless the grammar demands one
  SamplingOptions sampling = {};
  // If set: the text matches this grammar. Tokens that cannot continue it are never chosen, and
  // tokens that end texts only where it may end. The text ends when nothing may follow.
  std::shared_ptr<const Grammar> grammar = {};
  SharedList<std::string> stop = {};  // the text ends before the first of these texts
  // Further tokens that end the text, for example the end of a turn in a chat.
  std::vector<std::int32_t> end_tokens = {};
  // Special tokens whose names are part of the text, such as the mark before a tool call.
  std::vector<std::int32_t> shown_tokens = {};
  // Never choose a token of stop_tokens() or end_tokens, so that the text has max_new_tokens, or
  // ends with its grammar.
  bool ignore_end_of_text = false;
  // If set: guesses tokens, so that one step gives several. The tokens of the text stay the same.
  // Texts with hooks or without cache guess nothing.
  MakeDrafter make_drafter = {};
  bool use_cache = true;  // false: compute the whole window for every token; slower
  Index sample = 0;       // number of the text among several with one seed
  // If set: report log probability and rank of every chosen token, and this many of the most likely
  // tokens.
  std::optional<Index> logprobs = {};

  // Throws Error naming the first field that is out of range.
  void validate() const;
};

enum class FinishReason {
  length,  // max_new_tokens were generated
  // The model chose one of the tokenizer's stop_tokens() or of end_tokens, or nothing may follow in
  // the grammar.
  end_of_text,
  stop,       // a stop text occurred
  cancelled,  // Engine::cancel() was called
};

template <>
inline constexpr auto kChoices<FinishReason> =
    std::to_array<Choice<FinishReason>>({{"length", FinishReason::length},
                                         {"end_of_text", FinishReason::end_of_text},
                                         {"stop", FinishReason::stop},
                                         {"cancelled", FinishReason::cancelled}});

struct GenerateResult {
  // All chosen tokens, including a final <|endoftext|> and a stop text's.
  std::vector<std::int32_t> tokens;
  std::vector<TokenChoice> choices;  // one for each token if logprobs is set
  std::string text;                  // UTF-8, without the stop text
  FinishReason finish_reason = FinishReason::length;
  std::string stop_text;              // that ended the text; "" for other reasons
  Index prompt_tokens = 0;            // including a first <|endoftext|>
  Index prompt_tokens_reused = 0;     // part already read for another request
  bool prompt_was_cut = false;        // the prompt was longer than block_size
  Index guessed_tokens = 0;           // by the drafter
  Index guesses_taken = 0;            // part of guessed_tokens that the text has
  double seconds_to_first_token = 0;  // time for the prompt and the first token
  double seconds = 0;                 // time until the last token was chosen

  // Returns the speed after the first token, without reading the prompt.
  double tokens_per_second() const;
};

// Continues a prompt, encoded by Tokenizer::encode_prompt; an empty one starts from <|endoftext|>.
// Never chooses the unknown token.
//
// When prompt and output exceed block_size, the context is cut to its last block_size / 2 tokens
// (rounded up), whose positions restart from 0. It then grows until it is full again.
//
// `on_text` gets the text in pieces as soon as they are final. Pieces never split a character; text
// that may start a stop text is held back until that is decided. The joined pieces are the result's
// text.
//
// Throws Error when an option is out of range, the prompt is not UTF-8, or the tokenizer has more
// ids than the model. Also throws when a logit is NaN or plus infinity.
GenerateResult generate(Decoder& decoder, const Tokenizer& tokenizer, std::string_view prompt,
                        const GenerateOptions& options = {},
                        const std::function<void(std::string_view piece)>& on_text = {});

// Continues a prompt of ids. Adds no begin token.
GenerateResult generate(Decoder& decoder, const Tokenizer& tokenizer,
                        std::vector<std::int32_t> prompt, const GenerateOptions& options = {},
                        const std::function<void(std::string_view piece)>& on_text = {});

// Creates a float32 decoder for this one text.
template <std::derived_from<LanguageModel> Model>
GenerateResult generate(const Model& model, const Tokenizer& tokenizer, std::string_view prompt,
                        const GenerateOptions& options = {},
                        const std::function<void(std::string_view piece)>& on_text = {}) {
  Decoder decoder(model);
  return generate(decoder, tokenizer, prompt, options, on_text);
}

// Generates `count` texts, numbered from options.sample, each equal to that of generate(). Reads
// the prompt once; each pass over the weights serves all texts. Calls `on_step` after each pass
// with the number of new tokens of all texts.
std::vector<GenerateResult> generate_samples(Decoder& decoder, const Tokenizer& tokenizer,
                                             std::string_view prompt,
                                             const GenerateOptions& options, Index count);
std::vector<GenerateResult> generate_samples(Decoder& decoder, const Tokenizer& tokenizer,
                                             std::vector<std::int32_t> prompt,
                                             const GenerateOptions& options, Index count,
                                             const std::function<void(Index tokens)>& on_step = {});

}  // namespace headlight
