#pragma once

#include <functional>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/interpret/head_set.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Scores of heads from the model's matrices alone (Elhage et al., "A Mathematical Framework for
// Transformer Circuits", 2021), without norms, biases and MLPs. A residual stream of rows x [N, C]
// is multiplied from the right: W_E [V, C], W_Q, W_K, W_V [C, D], W_O [D, C], W_U [C, V].
struct WeightScores {
  HeadSet heads;  // all heads of the model
  // Sum of the eigenvalues of W_E W_V W_O W_U over the sum of their absolute values, from -1 to 1.
  // Above 0: the head makes attended tokens more likely. 1: all eigenvalues are positive.
  std::vector<double> copying;  // [heads]
  // |OV KQ| / (|OV| |KQ|) in Frobenius norms, with OV = W_V W_O of the earlier head (row) and KQ =
  // W_K W_Q^T of the later one (column). Share of the earlier head's output that the later head's
  // keys read. 0 unless the row's layer is below the column's.
  std::vector<double> k_composition;  // [heads, heads]
};

// Costs V C^2 for the copying scores, and G H D^2 C for every pair of layers. Calls `pause`, which
// may throw, after each head, pair of layers and 4,096 tokens. Throws Error for weights that are
// not finite.
WeightScores weight_scores(
    const Gpt& model, const std::function<void()>& pause = [] {});

// Input of the later of two heads that reads the earlier one's output.
enum class Composition { q, k, v };
template <>
inline constexpr auto kChoices<Composition> = std::to_array<Choice<Composition>>(
    {{"Q", Composition::q}, {"K", Composition::k}, {"V", Composition::v}});

// Returns composition scores of all pairs of heads, [heads, heads] in the order of WeightScores:
// |OV W| / (|OV| |W|) in Frobenius norms, with OV of the earlier head (row). W of the later one
// (column) is W_Q W_K^T for Q, W_K W_Q^T for K and W_V W_O for V. 0 unless the row's layer is below
// the column's. Rotary positions and norms of queries and keys are left out. `pause` as above.
std::vector<double> composition_scores(
    const Gpt& model, Composition kind, const std::function<void()>& pause = [] {});

}  // namespace headlight
