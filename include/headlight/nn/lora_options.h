#pragma once

#include "headlight/base/choices.h"
#include "headlight/base/index.h"

namespace headlight {

// Low-rank adaptation (LoRA; Hu et al., arXiv 2106.09685): the weights of a model stay as they are,
// and scale b a is added to some of its matrices. Only a [R, I] and b [P, R] are trained.
struct LoraOptions {
  Index rank = 8;       // R
  double alpha = 16;    // the scale is alpha / rank
  double dropout = 0;   // of the input of a, in training
  bool rslora = false;  // the scale is alpha / sqrt(rank) (Kalajdzievski, arXiv 2312.03732)
  bool dora = false;    // trains lengths of rows as well (DoRA; Liu et al., arXiv 2402.09353)

  double scale() const;
};

// Matrices of a layer that can be adapted: queries, keys, values and output of attention; gate,
// input and output of the MLP.
enum class LoraTarget { q, k, v, o, gate, up, down };

template <>
inline constexpr auto kChoices<LoraTarget> =
    std::to_array<Choice<LoraTarget>>({{"q", LoraTarget::q},
                                       {"k", LoraTarget::k},
                                       {"v", LoraTarget::v},
                                       {"o", LoraTarget::o},
                                       {"gate", LoraTarget::gate},
                                       {"up", LoraTarget::up},
                                       {"down", LoraTarget::down}});

}  // namespace headlight
