#pragma once

#include <cstdint>
#include <vector>

#include "headlight/interpret/scores/head_scores.h"

namespace headlight {

// Tokens of one copy, so that two copies fit the context; 0: no room.
Index repeat_length(const RepeatOptions& repeats, Index block_size);
// Tokens of a whole sequence; 0: no room.
Index repeat_tokens(const RepeatOptions& repeats, Index block_size);

struct RepeatedTokens {
  std::vector<std::int32_t> tokens;  // `first`, if set, then two copies
  Index repeat_begin = 0;            // first token of the second copy
};

// Returns sequence `number` of the options' sequences, with copies of `length` tokens.
RepeatedTokens repeated_tokens(const RepeatOptions& repeats, Index vocab_size, Index length,
                               Index number);

}  // namespace headlight
