#pragma once

#include <memory>
#include <vector>

#include "headlight/heads/head_id.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// The model without these heads: their rows of c_attn and columns of c_proj are gone, everything
// else is copied. It computes what the whole model computes with zeros in the place of the heads'
// outputs, with smaller products. The other heads of a layer move up, so that heads 0, 2 and 3 of a
// layer that lost head 1 are then called 0, 1 and 2.
// Throws Error for heads that do not exist and when a layer would keep none.
std::unique_ptr<Gpt> prune_heads(const Gpt& model, const std::vector<HeadId>& heads);

// The model with zeros in the place of these heads' output weights: the same function as
// prune_heads gives, at full size, for programs that know heads of one number only.
std::unique_ptr<Gpt> zero_heads(const Gpt& model, const std::vector<HeadId>& heads);

// The full-size model that computes the same: in every layer with fewer than `heads` heads the
// missing ones are added behind, with weights of 0. Throws Error when a layer has more heads.
std::unique_ptr<Gpt> fill_up_heads(const Gpt& model, Index heads);

}  // namespace headlight
