#pragma once

#include <vector>

#include "headlight/nn/layers.h"

namespace headlight {

enum class NormPosition {
  pre,   // x + f(norm(x)), with a final norm: GPT-2
  post,  // norm(x + f(x)): Vaswani et al.
};

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

  Index heads(Index layer) const;
  // Throws Error for sizes that are not positive, not sensible or do not divide.
  void validate() const;
};

// Parameters that a Gpt of this configuration has, by part; nothing is allocated.
struct ParameterCounts {
  Index token_embedding = 0;     // V C
  Index position_embedding = 0;  // block_size C
  Index attention = 0;           // all layers; of one layer with H D = C: 4 C^2 + 4 C
  Index mlp = 0;                 // all layers; of one layer: 8 C^2 + 5 C; 0 without MLPs
  Index norms = 0;               // 2 C each
  Index head = 0;                // 0 when tied

  Index total() const {
    return token_embedding + position_embedding + attention + mlp + norms + head;
  }
};

// Throws Error when the configuration does not validate or the count exceeds 2^48.
ParameterCounts count_parameters(const GptConfig& config);

// Floating-point operations of the matrix products of one training step, a multiply-add counting as
// two: 6 W N for the W weights that take part in products (head included, biases and norms not) and
// 12 H D P a layer for attention over P visible pairs of query and key (Chowdhery et al., arXiv
// 2204.02311, B, without its pairs in the future). offsets [B + 1] as in Batch: only real tokens
// count. Throws Error when the configuration does not validate.
double training_flops(const GptConfig& config, const std::vector<Index>& offsets);

}  // namespace headlight
