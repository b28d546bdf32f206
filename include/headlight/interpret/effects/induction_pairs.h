#pragma once

#include <vector>

#include "headlight/interpret/effects/patching.h"
#include "headlight/interpret/scores/head_scores.h"

namespace headlight {

// Two texts that differ only in their repetition. The clean text ends with tokens from earlier in
// it, "... P A B ... Q X Y ... P A", so the answer is B. In the corrupt text P A and Q X are
// swapped, "... Q X B ... P A Y ... P A", so the answer is Y. P and Q are short runs of tokens that
// lengthen the repetition.
struct InductionPair {
  PatchingTask task;
  Index answer_position = 0;  // position of B in both texts
  Index wrong_position = 0;   // position of Y in both texts, after B
};

// Returns repeats.sequences pairs. Each has `length` different random tokens and the repeated end;
// P is a sixth of `length`. Texts are shorter if the context or the available tokens require it.
// The positions of A and X are random for each pair, so distance does not predict the answer.
// repeats.first, if set, precedes each text. Throws Error about "repeats" for no pairs, and without
// room for 5 different tokens and A.
std::vector<InductionPair> induction_pairs(const RepeatOptions& repeats, const GptConfig& config);

}  // namespace headlight
