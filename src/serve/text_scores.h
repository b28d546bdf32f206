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
  double loss = 0;  // mean over the tokens but the first, nats; 0: there are none
};

// With so many of the likeliest in the place of every token, and behind the text. The logits of a
// few positions are in memory at once. With `pause` the text is read in parts of 32 positions, and
// pause() called behind each; that changes the last bits. Throws Error as Gpt::hidden does, and
// what pause() throws.
TextScores score_text(const Gpt& model, const std::vector<std::int32_t>& text, Index likeliest,
                      const std::function<void()>& pause = {});

}  // namespace headlight::serve
