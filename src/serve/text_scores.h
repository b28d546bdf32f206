#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "headlight/generate/generator.h"
#include "headlight/nn/gpt.h"

namespace headlight::serve {

// What a model thinks of a text.
struct TextScores {
  std::vector<TokenChoice> tokens;        // [T]; nothing is thought of the first
  std::vector<TokenLogProbability> next;  // the likeliest behind it
  std::vector<double> asked;  // log-probabilities of TextScoreOptions::asked behind it, nats
  double loss = 0;            // mean over the tokens but the first, nats; 0: there are none
};

struct TextScoreOptions {
  Index likeliest = 0;                   // so many in the place of every token, and behind the text
  std::vector<std::int32_t> asked = {};  // tokens that may stand behind the text
  ForwardHook* hook = nullptr;           // of this reading alone
  std::function<void()> pause = {};  // called behind parts of 32 positions
  // With a pause the text is read in these parts, too, which changes the last bits; `whole`: it is
  // read at once all the same.
  bool whole = false;
};

// The logits of a few positions are in memory at once. Throws Error as Gpt::hidden does, about a
// token that is not in the vocabulary, and what pause() throws.
TextScores score_text(const Gpt& model, const std::vector<std::int32_t>& text,
                      const TextScoreOptions& options);

}  // namespace headlight::serve
