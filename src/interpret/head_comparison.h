#pragma once

#include <map>
#include <utility>
#include <vector>

#include "headlight/interpret/redundancy.h"
#include "interpret/layer_maps.h"

namespace headlight {

// Compares all pairs of heads on a sample of pieces, whose weights come layer by layer.
class HeadComparison {
 public:
  // Chooses evenly spread pieces of two tokens or more: the first of every sequence, or all of a
  // single one. Throws Error for heads that the model does not have, and for options out of range.
  HeadComparison(const LanguageModel& model, const std::vector<SequencePiece>& pieces,
                 const RedundancyOptions& options);

  // Number of compared queries of a head.
  Index queries() const { return result_.queries; }
  // Adds the weights [H, T, T] float32 of a layer on a piece, if that is chosen. Of a causal model,
  // T may exceed RedundancyOptions::max_tokens. Layers of a piece come in order.
  void add(const SequencePiece& piece, Index layer, const Tensor& weights);
  // Runs the model over the pieces.
  void run(const LanguageModel& model, const std::vector<std::vector<std::int32_t>>& sequences);
  // Returns the distances, once all pieces were added.
  HeadDistances finished();

 private:
  // Weights of the heads on the first tokens of a piece, as far as they were added.
  struct Maps {
    SequencePiece piece;         // of at most max_tokens tokens
    std::size_t heads = 0;       // that were added
    std::vector<float> weights;  // [L, heads, stride], rows filled up with zeros
  };

  Index stride_of(const Maps& maps) const;
  // Begin of a row of weights.
  Index offset(const Maps& maps, std::size_t head, Index query) const;
  void add_distances(const Maps& maps);

  HeadLayout layout_;
  bool causal_;
  double threshold_;
  HeadDistances result_;
  std::map<std::pair<std::size_t, Index>, Maps> maps_;  // by sequence and begin
};

}  // namespace headlight
