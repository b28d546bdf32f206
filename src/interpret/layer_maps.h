#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "headlight/datasets/batches/sequence_pieces.h"
#include "headlight/nn/language_model.h"

namespace headlight {

// Throws Error for a bidirectional model, for analyses of next tokens.
void require_causal(const LanguageModel& model);

// Recorded weights of a layer, [H, T, T] for each sequence. Throws Error if there are none: other
// implementations of LanguageModel may ignore recorders.
std::vector<Tensor>& recorded_weights(Recorder& recorder, Index layer, const LanguageModel& model);

// Runs a model over sequences of token ids. Calls visit(layer, weights), with the weights [H, T, T]
// float32 of each sequence, for every layer with heads. Runs a model that can be cut layer by
// layer, so only one layer's weights are in memory at a time.
void visit_layer_maps(
    const LanguageModel& model, const std::vector<std::vector<std::int32_t>>& sequences,
    const std::function<void(Index layer, const std::vector<Tensor>& weights)>& visit);

// Part of a sequence that fits the context length.
using SequencePiece = SequencePieces::Piece;

// Truncates each sequence to max_tokens (0: no limit) and splits it every block_size tokens.
std::vector<SequencePiece> cut_sequences(const std::vector<std::vector<std::int32_t>>& sequences,
                                         Index block_size, Index max_tokens);

}  // namespace headlight
