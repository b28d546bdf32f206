#pragma once

#include <vector>

#include "headlight/nn/batch.h"

namespace headlight {

// Makes a training batch. In a sequence of n tokens, the inputs are tokens 0 ... n - 2 and the
// targets tokens 1 ... n - 1, so that every position has a target, unless the next token is context
// (see learned_tokens.h). Sequences of fewer than two tokens are left out. A pair of answers
// becomes two sequences, and the batch one of pairs. Throws Error if no position is left, and for
// pairs among other sequences.
Batch training_batch(const std::vector<std::vector<std::int32_t>>& sequences);

}  // namespace headlight
