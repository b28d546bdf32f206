#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "headlight/nn/language_model.h"

namespace headlight {

// What a pass of the model has recorded of a layer, [H, T, T] for each sequence. Throws Error for
// nothing: a model of somebody else's may not know of recorders.
std::vector<Tensor>& recorded_weights(Recorder& recorder, Index layer, const LanguageModel& model);

// Called with the attention weights of one layer, [H, T, T] float32 for each sequence.
using LayerVisitor = std::function<void(Index layer, const std::vector<Tensor>& weights)>;

// Runs a model over sequences of token ids, a Gpt layer by layer, so that the weights of only one
// layer are in memory at a time. Layers without heads are not visited.
void visit_layer_maps(const LanguageModel& model,
                      const std::vector<std::vector<std::int32_t>>& sequences,
                      const LayerVisitor& visit);

// A part of a sequence that the model can see at once.
struct SequencePiece {
  std::size_t sequence = 0;
  Index begin = 0;
  Index length = 0;
};

// All sequences, each cut to max_tokens (0: not) and then at every block_size tokens.
std::vector<SequencePiece> cut_sequences(const std::vector<std::vector<std::int32_t>>& sequences,
                                         Index block_size, Index max_tokens);

// How many of the pieces from `begin` on one batch takes: at most batch_size, and one layer's
// weights of them stay below 256 MiB as long as that leaves one piece.
std::size_t batch_end(const std::vector<SequencePiece>& pieces, std::size_t begin, Index batch_size,
                      Index heads);

}  // namespace headlight
