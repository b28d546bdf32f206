#pragma once

#include <cstdint>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/interpret/head_id.h"
#include "headlight/nn/gpt.h"

// Directions of the residual stream that heads read and write, and the tokens along them.
namespace headlight {

enum class HeadCircuit {
  ov,  // W_V W_O: from the attended token to the stream
  qk,  // W_Q W_K^T: from the query to the key
};
template <>
inline constexpr auto kChoices<HeadCircuit> =
    std::to_array<Choice<HeadCircuit>>({{"ov", HeadCircuit::ov}, {"qk", HeadCircuit::qk}});

// Singular value decomposition of a head's circuit [C, C], whose rank is the head's width D.
struct HeadDirections {
  std::vector<double> values;  // [D], the largest first
  Tensor from;                 // [D, C] float64: read of the stream (ov), or of queries (qk)
  Tensor to;                   // [D, C]: written to the stream (ov), or read of keys (qk)
};

// Decomposes the matrices of a head. The stream that they read counts with the gain of the norm
// before attention, and a layer norm's mean is taken out, as fold_ln of TransformerLens has it;
// biases, rotary positions and norms of queries and keys are left out. The largest entry of each
// row of `to` is positive. Throws Error for a head that the model does not have.
HeadDirections head_directions(const Gpt& model, const HeadId& head, HeadCircuit circuit);

// What tokens along a direction are: inputs by their embeddings, or outputs by the head of the
// model, with the gain of the last norm.
enum class TokenSide { read, written };

struct TokenProduct {
  std::int32_t id = 0;
  double product = 0;
};

// Tokens with the largest and the smallest products with a direction, the furthest from 0 first.
struct DirectionTokensFound {
  std::vector<TokenProduct> most;   // at most `count`
  std::vector<TokenProduct> least;  // at most `count`
};

// Returns these tokens for each of the directions [K, C]. Costs V C K. Calls `pause`, which may
// throw, after each 4,096 tokens.
std::vector<DirectionTokensFound> tokens_along(
    const Gpt& model, const Tensor& directions, TokenSide side, Index count,
    const std::function<void()>& pause = [] {});

}  // namespace headlight
