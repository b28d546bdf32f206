#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/generate/generator.h"
#include "headlight/interpret/recorded_pass.h"
#include "headlight/interpret/scores/weight_scores.h"

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
  ForwardHook* hook = nullptr;               // of the passes
  std::function<void()> pause = [] {};       // called after every 32 positions
  // Final hidden states [T, F] of the text. Undefined: the text is processed in these parts, which
  // changes the last bits.
  Tensor hidden = {};
};

// Holds the logits of 32 positions at a time. Throws Error as Gpt::hidden does and for a token
// outside the vocabulary. Passes on exceptions of pause().
TextScores score_text(const Gpt& model, const std::vector<std::int32_t>& text,
                      const TextScoreOptions& options);

// A pass of a text: its final hidden states [T, F] and its scores, once a question needs them.
struct TextRun {
  std::vector<std::int32_t> text;
  std::string changes;  // of the model, as the requests gave them
  Tensor hidden = {};
  TextScores scores = {};
  std::string scored = {};  // what the scores were asked for; empty: none
};

// What questions about one model share: the last runs of texts with the same changes, passes of the
// unchanged model, and the scores of its weights.
class TextRuns {
 public:
  // Returns the run of a text, a new one without values if none is kept.
  std::shared_ptr<TextRun> of(const std::vector<std::int32_t>& text, const std::string& changes);
  // Passes of the model without changes.
  RecordedPasses& passes(const Gpt& model) { return passes_ ? *passes_ : passes_.emplace(model); }
  std::optional<WeightScores> weight_scores = {};  // of the model; empty until measured

 private:
  std::deque<std::shared_ptr<TextRun>> runs_;  // the last one used first
  std::optional<RecordedPasses> passes_;
};

// Returns the vectors of positions [begin, end) of a text, as Gpt::hidden does. The cache must hold
// the positions before, and then holds these, too.
Tensor read_part(const Gpt& model, const std::vector<std::int32_t>& text, Index begin, Index end,
                 ForwardHook* hook, KeyValueCache& cache);

}  // namespace headlight::serve
