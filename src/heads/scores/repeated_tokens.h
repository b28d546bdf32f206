#pragma once

#include <cstdint>
#include <vector>

#include "headlight/heads/head_scores.h"

namespace headlight {

// Tokens of one copy that fit a block twice; 0: none.
Index repeat_length(const RepeatOptions& repeats, Index block_size);
// Of a whole sequence; 0: a block has no room for one.
Index repeat_tokens(const RepeatOptions& repeats, Index block_size);

struct RepeatedTokens {
  std::vector<std::int32_t> tokens;  // what stands before, a copy, the same again
  Index repeat_begin = 0;            // first token of the second copy
};

// Sequence `number` of those that the options describe, with copies of `length` tokens.
RepeatedTokens repeated_tokens(const RepeatOptions& repeats, Index vocab_size, Index length,
                               Index number);

}  // namespace headlight
