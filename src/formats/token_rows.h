#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "headlight/nn/gpt.h"
#include "headlight/tensor/random.h"

// Rows of tokens: of the token embedding and the head.
namespace headlight {

struct ResizedOptions {
  Index tokens = 0;  // of the vocabulary
  bool tied = true;  // the head is the token embedding; false: a copy of it, or the model's own
};

// Returns a copy of the model with another number of tokens, or an untied head. Rows of new tokens
// are zeros.
std::unique_ptr<Gpt> resized(const Gpt& model, const ResizedOptions& options);

// Fills the rows from `known` on of a matrix of float32 with the mean of the rows before, and a
// little noise: tokens with equal rows would have equal logits, and equal effects on the tokens
// after them.
void fill_new_rows(Tensor rows, Index known, const RandomStream& random);

// Returns the ids among `ids` whose rows in the token embedding or the head no training has formed:
// rows of fill_new_rows(), of transformers' resize_token_embeddings(), of one number, or of two
// ids.
std::vector<std::int32_t> untrained_rows(const Tensor& matrix,
                                         const std::vector<std::int32_t>& ids);

}  // namespace headlight
