#pragma once

#include <vector>

#include "headlight/base/choices.h"
#include "headlight/nn/head_layout.h"
#include "headlight/nn/layers.h"

namespace headlight {

enum class NormPosition {
  pre,   // x + f(norm(x)), with a final norm: GPT-2
  post,  // norm(x + f(x)): Vaswani et al.
};

template <>
inline constexpr auto kChoices<NormPosition> =
    std::to_array<Choice<NormPosition>>({{"pre", NormPosition::pre}, {"post", NormPosition::post}});

// The shape of a GPT. Names and meaning follow nanoGPT and GPT-2.
struct GptConfig {
  Index vocab_size = 0;     // V
  Index block_size = 1024;  // longest sequence
  Index n_layer = 12;       // L
  Index n_head = 12;        // H
  Index n_embd = 768;       // C
  double attention_dropout = 0;
  double residual_dropout = 0;
  double embedding_dropout = 0;
  bool bias = true;         // in linear layers and layer norms
  bool tie_weights = true;  // the head shares the token embedding
  NormPosition norm = NormPosition::pre;
  Activation activation = Activation::gelu_tanh;
  bool mlp = true;  // false: layers are attention alone
  double layer_norm_epsilon = 1e-5;
  // Heads of each layer, for models whose heads were pruned; empty: n_head everywhere.
  std::vector<Index> heads_per_layer = {};
  Index head_width = 0;  // D; 0: C / H
  // The numbers that the heads of each layer are known by, rising: those that they had before
  // others were pruned. Empty: 0, 1, 2 ... in every layer.
  std::vector<std::vector<Index>> head_numbers = {};

  Index heads(Index layer) const;
  HeadLayout head_layout() const;
  // Throws Error for sizes that are not positive, not sensible or do not divide.
  void validate() const;
};

}  // namespace headlight
