#pragma once

#include "headlight/data/batcher.h"
#include "headlight/data/sequence_pieces.h"

namespace headlight {

// Walks through all of a dataset once, in order and without overlap, for evaluation: consecutive
// blocks of the stream, or the documents one after another. Every target comes exactly once.
class SequentialBatches {
 public:
  // Uses batch_size, block_size and pad_id of the options. The dataset must outlive the batches.
  // Throws Error when an option is out of range or the dataset has no target.
  SequentialBatches(const TokenDataset& dataset, const BatcherOptions& options);
  SequentialBatches(TokenDataset&& dataset, const BatcherOptions& options) = delete;

  Index count() const;
  // Batch `index`, at most [B * T] inputs. Throws Error when it is not in 0 ... count() - 1.
  Batch batch(Index index) const;
  // Where sequence `sequence` of batch `index` comes from.
  SequencePieces::Place place(Index index, Index sequence) const {
    return pieces_.place(index * batch_size_ + sequence);
  }

 private:
  SequencePieces pieces_;
  Index batch_size_;
  std::int32_t pad_id_;
};

}  // namespace headlight
