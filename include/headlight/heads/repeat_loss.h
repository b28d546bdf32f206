#pragma once

#include <vector>

#include "headlight/heads/head_scores.h"

namespace headlight {

// How well a model predicts random tokens that are repeated, in nats a token.
struct RepeatLoss {
  double first = 0;   // the first copy: nobody can know what comes
  double second = 0;  // the second: what comes is what followed the first time

  // Below 0 as far as the model learns from its context (Olsson et al., "In-context Learning and
  // Induction Heads", 2022: loss late in the context minus loss early in it).
  double in_context() const { return second - first; }
};

// Means over all sequences and all targets, the first token of each copy left out: what it is
// follows from nothing. Throws Error unless there is a sequence and room for two copies of two
// tokens in the model's block.
RepeatLoss repeat_loss(const Gpt& model, const RepeatOptions& repeats = {});

// The same for each sequence, for intervals over sequences: they are equally long, so that their
// mean is that of all.
std::vector<RepeatLoss> repeat_losses(const Gpt& model, const RepeatOptions& repeats = {});

}  // namespace headlight
