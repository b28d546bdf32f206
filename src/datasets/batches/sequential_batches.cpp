#include "headlight/datasets/batches/sequential_batches.h"

#include <algorithm>
#include <utility>

#include "headlight/base/error.h"
#include "headlight/datasets/batches/training_batch.h"

namespace headlight {

SequentialBatches::SequentialBatches(const TokenDataset& dataset, const BatcherOptions& options,
                                     std::optional<Masking> masking)
    : pieces_(dataset, options.block_size),
      batch_size_(options.batch_size),
      masking_(std::move(masking)) {
  require(batch_size_ >= 1, "[SequentialBatches] batch_size must be at least 1, got ", batch_size_);
  count_ = whole_count();
}

SequentialBatches SequentialBatches::at_most(Index most) const {
  SequentialBatches part = *this;
  part.count_ = most > 0 ? std::min(most, count_) : count_;
  return part;
}

Batch SequentialBatches::batch(Index index) const {
  require(index >= 0 && index < count(), "[SequentialBatches] batch ", index, " is outside 0 ... ",
          count() - 1);
  const Index begin = first_piece(index);
  const Index size = std::min(batch_size_, pieces_.count() - begin);
  std::vector<std::vector<std::int32_t>> sequences;
  std::vector<Index> records;
  for (Index i = begin; i < begin + size; ++i) {
    sequences.push_back(pieces_.tokens(i));
    records.push_back(static_cast<Index>(pieces_.at(i).sequence));
  }
  Batch batch = masking_ ? masked_batch(sequences, *masking_) : training_batch(sequences);
  batch.records = std::move(records);
  return batch;
}

}  // namespace headlight
