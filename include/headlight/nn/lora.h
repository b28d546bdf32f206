#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/nn/module.h"

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

// Consecutive rows of the matrix of a Linear.
struct LoraModule {
  std::string matrix;  // name of the Linear in the model: "h.3.attn.c_attn"
  std::string name;    // of the update in that Linear: "q"
  Index first_row = 0;
  Index rows = 0;  // P
  // Rank and alpha of this update; none: the options' values.
  std::optional<Index> rank = {};
  std::optional<double> alpha = {};
};

// Adds an update to each module and freezes all other parameters. Starts as in PEFT: a is uniform
// in
// +-1 / sqrt(I), b is 0, lengths are the rows' own, so that the model computes the same at first.
// Throws Error for a module that does not exist, and with DoRA for rows of zeros.
void add_lora(Module& model, const std::vector<LoraModule>& modules, const LoraOptions& options,
              const RandomStream& random);

}  // namespace headlight
