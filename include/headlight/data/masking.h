#pragma once

#include <cstdint>
#include <vector>

#include "headlight/nn/batch.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// Hidden tokens for the loss of bidirectional models: of each sequence the tokens at the positions
// 1, 8, 15 ..., unless they are special, about the 15 % of BERT's training.
struct Masking {
  std::int32_t token = 0;               // replaces the hidden tokens
  std::vector<std::int32_t> kept = {};  // ids that are never hidden
};

// Returns the masking by the tokenizer's mask token, which keeps special tokens. Throws Error if
// the tokenizer has no mask token.
Masking masking_of(const Tokenizer& tokenizer);

// Returns a batch whose targets are the hidden tokens, at their own positions.
Batch masked_batch(const std::vector<std::vector<std::int32_t>>& sequences, const Masking& masking);

}  // namespace headlight
