#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "headlight/data/dataset.h"

namespace headlight {

class RunningSums;  // src/data/running_sums.h

// A dataset cut into pieces with at most `block_size` inputs each. Neighbouring pieces of a
// sequence share one token, the last target of one and the first input of the next, so that every
// target is in exactly one piece. Where the dataset has a window_begin, it takes the place of that
// first input: every piece then begins as a prompt does. A sequence of one token has no target and gives no piece.
class SequencePieces {
 public:
  // The dataset must outlive the pieces. Throws Error when block_size is below 1 or the dataset has
  // no target.
  SequencePieces(const TokenDataset& dataset, Index block_size);
  SequencePieces(SequencePieces&&) noexcept;
  SequencePieces& operator=(SequencePieces&&) noexcept;
  ~SequencePieces();

  Index count() const;
  // The number of a sequence's first piece, or where it would be; of the end, too.
  Index first_piece(Index sequence) const;
  // Tokens of one piece, the last target included: 2 ... block_size + 1.
  Index length(Index piece) const;
  std::vector<std::int32_t> tokens(Index piece) const;

  // Tokens begin ... begin + length - 1 of one sequence.
  struct Place {
    std::size_t sequence = 0;
    Index begin = 0;
    Index length = 0;
  };
  Place place(Index piece) const;

 private:
  const TokenDataset* dataset_;
  Index block_size_;
  std::unique_ptr<const RunningSums> pieces_;  // of every sequence
};

}  // namespace headlight
