#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "headlight/generate/generator.h"
#include "headlight/nn/gpt.h"

namespace headlight::serve {

// Next-token predictions of a model for a text of T tokens.
struct TextScores {
  std::vector<TokenChoice> tokens;        // [T]; the first has no prediction
  std::vector<TokenLogProbability> next;  // most likely tokens after the text
  std::vector<double> requested;          // log-probabilities of the tokens asked, nats
  double loss = 0;                        // mean over all tokens but the first, nats; 0: none
};

struct TextScoreOptions {
  Index likeliest = 0;                       // most likely tokens, per position and after the text
  std::vector<std::int32_t> requested = {};  // tokens to score after the text
  ForwardHook* hook = nullptr;               // attached for this pass alone
  std::function<void()> pause = [] {};       // called after every 32 positions
  // true: the text is processed in one pass; false: in these parts, which changes the last bits.
  bool whole = false;
};

// Holds the logits of 32 positions at a time. Throws Error as Gpt::hidden does and for a token
// outside the vocabulary. Passes on exceptions of pause().
TextScores score_text(const Gpt& model, const std::vector<std::int32_t>& text,
                      const TextScoreOptions& options);

// Returns the vectors of positions [begin, end) of a text, as Gpt::hidden does. The cache must hold
// the positions before, and then holds these, too.
Tensor read_part(const Gpt& model, const std::vector<std::int32_t>& text, Index begin, Index end,
                 ForwardHook* hook, KeyValueCache& cache);

}  // namespace headlight::serve
