#pragma once

#include <vector>

#include "headlight/heads/head_scores.h"
#include "headlight/heads/patching.h"

namespace headlight {

// Two texts that only induction tells apart. The clean one comes to tokens that it had before,
// "... P A B ... Q X Y ... P A", so that B, the answer, follows; in the corrupt one P A and Q X
// have changed places, "... Q X B ... P A Y ... P A", so that it is Y. P and Q stand for a few
// tokens, which make a repetition of the end.
struct InductionPair {
  PatchingTask task;
  Index answer_place = 0;  // of B in both texts
  Index wrong_place = 0;   // of Y in both texts, behind B
};

// repeats.sequences such pairs of `length` random tokens, each another, and the end, P a sixth of
// them: fewer where the block, or the tokens to draw from, do not suffice. Where A and X stand is
// drawn for every pair, so that no distance tells the answer. With repeats.first in front. Throws
// Error about "repeats" without a pair, and unless there is room for 5 different tokens and A.
std::vector<InductionPair> induction_pairs(const RepeatOptions& repeats, const GptConfig& config);

}  // namespace headlight
