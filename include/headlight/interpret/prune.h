#pragma once

#include <memory>

#include "headlight/interpret/head_set.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Returns the model without these heads: without their rows of c_attn and columns of c_proj,
// otherwise a copy. It computes the same as the model with these heads' outputs set to 0, with
// smaller products. The other heads keep their numbers, GptConfig::head_numbers. Throws Error for
// heads that do not exist, if a layer would keep none, and for bidirectional models.
std::unique_ptr<Gpt> prune_heads(const Gpt& model, const HeadSet& heads);

// Returns a full-size model with the same function. Every layer gets the same number of heads,
// `heads` or more, in groups of one size if they share keys and values. Heads keep their numbers;
// missing heads get weights of 0. Throws Error for groups that no pruning produces.
std::unique_ptr<Gpt> fill_up_heads(const Gpt& model, Index heads);

}  // namespace headlight
