#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "headlight/datasets/dataset.h"

namespace headlight {

class RunningSums;  // src/datasets/batches/running_sums.h

// A dataset cut into pieces with at most `block_size` inputs each. Neighbouring pieces share one
// token: the last target of one is the first input of the next. So every target is in exactly one
// piece. If the dataset has a window_begin, it replaces that first input, so that every piece
// begins as prompts do. A sequence of one token gives no piece. Pairs of answers are not cut.
class SequencePieces {
 public:
  // The dataset must outlive the pieces. Throws Error if block_size is below 1 or the dataset has
  // no target.
  SequencePieces(const TokenDataset& dataset, Index block_size);

  Index count() const;
  // First piece of sequence `sequence`, 0 ... number of sequences (then count()).
  Index first_piece(Index sequence) const;
  // Tokens of one piece, including the last target: 2 ... block_size + 1.
  Index length(Index piece) const;
  std::vector<std::int32_t> tokens(Index piece) const;

  // The tokens begin ... begin + length - 1 of one sequence.
  struct Piece {
    std::size_t sequence = 0;
    Index begin = 0;
    Index length = 0;
  };
  Piece at(Index piece) const;

 private:
  const TokenDataset* dataset_;
  Index block_size_;
  std::shared_ptr<const RunningSums> pieces_;  // pieces of every sequence
};

}  // namespace headlight
