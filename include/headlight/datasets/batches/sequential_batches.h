#pragma once

#include <optional>

#include "headlight/datasets/batches/batcher.h"
#include "headlight/datasets/batches/masking.h"
#include "headlight/datasets/batches/sequence_pieces.h"

namespace headlight {

// Covers a dataset once, in order and without overlap, for evaluation: consecutive blocks of the
// stream, or one document after another. Every target occurs exactly once.
class SequentialBatches {
 public:
  // Uses batch_size and block_size of the options. The dataset must outlive the batches. With
  // `masking`, batches are masked_batch() of whole documents of at most block_size tokens.
  // Throws Error if an option is out of range or the dataset has no target.
  SequentialBatches(const TokenDataset& dataset, const BatcherOptions& options,
                    std::optional<Masking> masking = {});
  SequentialBatches(TokenDataset&& dataset, const BatcherOptions& options,
                    std::optional<Masking> masking = {}) = delete;

  // Returns `most` of the batches, spread evenly over the data; all if `most` is 0 or too large.
  SequentialBatches at_most(Index most) const;

  Index count() const { return count_; }
  // Returns batch `index`, at most [B * T] inputs. Throws Error unless 0 <= index < count().
  Batch batch(Index index) const;
  // Source tokens of sequence `sequence` of batch `index`.
  SequencePieces::Piece piece(Index index, Index sequence) const {
    return pieces_.at(first_piece(index) + sequence);
  }

 private:
  Index whole_count() const { return divided_up(pieces_.count(), batch_size_); }
  Index first_piece(Index index) const { return index * whole_count() / count_ * batch_size_; }

  SequencePieces pieces_;
  Index batch_size_;
  Index count_ = 0;
  std::optional<Masking> masking_;
};

}  // namespace headlight
