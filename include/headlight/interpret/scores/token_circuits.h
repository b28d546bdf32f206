#pragma once

#include <cstdint>
#include <vector>

#include "headlight/interpret/head_id.h"
#include "headlight/nn/gpt.h"

// Circuits of a head from tokens to tokens (Elhage et al., "A Mathematical Framework for
// Transformer Circuits", 2021), from the matrices alone: without norms, biases, positions and other
// layers. Matrices are as in WeightScores.
namespace headlight {

// Tokens of an axis; empty: the whole vocabulary.
using CircuitTokens = std::vector<std::int32_t>;

// Returns W_E W_V W_O W_U [sources, targets]: how much attending to a source token raises the
// logits of target tokens. Throws Error about "head", and for ids outside the vocabulary about
// "tokens_in" or "tokens_out". Also throws if the memory for the result is missing.
Tensor ov_circuit(const Gpt& model, const HeadId& head, const CircuitTokens& sources,
                  const CircuitTokens& targets);

// Returns W_E W_Q W_K^T W_E^T [queries, keys]: scores of key tokens for query tokens, before they
// are scaled by 1 / sqrt(D). With rotary positions: the scores at relative distance 0; norms of
// queries and keys (qk_norm) are left out. Throws Error as ov_circuit().
Tensor qk_circuit(const Gpt& model, const HeadId& head, const CircuitTokens& queries,
                  const CircuitTokens& keys);

}  // namespace headlight
