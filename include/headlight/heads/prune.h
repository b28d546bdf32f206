#pragma once

#include <memory>

#include "headlight/heads/head_set.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// The model without these heads: their rows of c_attn and columns of c_proj are gone, everything
// else is copied. It computes what the whole model computes with zeros in the place of the heads'
// outputs, with smaller products. The other heads keep their numbers, GptConfig::head_numbers.
// Throws Error for heads that do not exist and when a layer would keep none.
std::unique_ptr<Gpt> prune_heads(const Gpt& model, const HeadSet& heads);

// The model with zeros in the place of these heads' output weights: the same function as
// prune_heads gives, at full size, for programs that know heads of one number only.
std::unique_ptr<Gpt> zero_heads(const Gpt& model, const HeadSet& heads);

// A full-size model that computes the same: every layer has the same heads, `heads` or more, in
// groups of one size where they share keys and values. All are at their numbers; those that are
// missing have weights of 0. Throws Error for groups that no pruning leaves.
std::unique_ptr<Gpt> fill_up_heads(const Gpt& model, Index heads);

}  // namespace headlight
