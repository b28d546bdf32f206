#pragma once

#include <vector>

#include "headlight/interpret/scores/head_scores.h"

namespace headlight {

// Loss on repeated random tokens, in nats a token.
struct RepeatLoss {
  double first = 0;   // first copy: unpredictable
  double second = 0;  // second copy: predictable from the first

  // In-context learning score, below 0 for a model that uses its context (Olsson et al.,
  // "In-context Learning and Induction Heads", 2022).
  double in_context() const { return second - first; }
};

// Means over all targets except the first token of each copy, which is unpredictable. Throws Error
// for no sequences, and for a context too short for two copies of two tokens.
RepeatLoss repeat_loss(const Gpt& model, const RepeatOptions& repeats = {});

// The loss of each sequence; their mean is repeat_loss().
std::vector<RepeatLoss> repeat_losses(const Gpt& model, const RepeatOptions& repeats = {});

}  // namespace headlight
