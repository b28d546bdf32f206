#pragma once

#include <functional>
#include <vector>

#include "headlight/heads/head_set.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// What the matrices of a model alone say about its heads (Elhage et al., "A Mathematical Framework
// for Transformer Circuits", 2021), with norms, biases and MLPs left out. A residual stream of rows
// x [N, C] is multiplied from the right: W_E [V, C], W_Q, W_K, W_V [C, D], W_O [D, C], W_U [C, V].
struct WeightScores {
  HeadSet heads;  // all of the model
  // Sum of the eigenvalues of W_E W_V W_O W_U over the sum of their absolute values, -1 to 1: above
  // 0 for a head that makes the tokens it looks at likelier, 1 when all eigenvalues are positive.
  std::vector<double> copying;  // [heads]
  // |OV KQ| / (|OV| |KQ|) by Frobenius norms, with OV = W_V W_O of the earlier head (row) and
  // KQ = W_K W_Q^T of the later one (column): how much of what the earlier head writes the later
  // one's keys read. 0 unless the row's layer is below the column's.
  std::vector<double> k_composition;  // [heads, heads]
};

// Costs V C^2 for the copying scores and D^2 C for every pair of heads.
// `pause` is called behind what it computes of each head and of some thousand tokens. Throws Error
// when a weight is not finite, and what pause() throws.
WeightScores weight_scores(const Gpt& model, const std::function<void()>& pause = {});

}  // namespace headlight
