#pragma once

#include <cstdint>
#include <vector>

#include "headlight/nn/batch.h"

namespace headlight {

// Hidden tokens for the loss of bidirectional models: of each sequence the tokens at the positions
// 1, 8, 15 ..., unless they are special, about the 15 % of BERT's training.
struct Masking {
  std::int32_t token = 0;               // replaces the hidden tokens
  std::vector<std::int32_t> kept = {};  // ids that are never hidden, ascending
};

// Returns a batch whose targets are the hidden tokens, at their own positions.
Batch masked_batch(const std::vector<std::vector<std::int32_t>>& sequences, const Masking& masking);

}  // namespace headlight
