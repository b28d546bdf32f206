#include "headlight/data/sequence_pieces.h"

#include <algorithm>
#include <iterator>

#include "headlight/base/error.h"

namespace headlight {

SequencePieces::SequencePieces(const TokenDataset& dataset, Index block_size)
    : dataset_(&dataset), block_size_(block_size) {
  require(block_size >= 1, "[batching] block_size must be at least 1, got ", block_size);
  first_.reserve(dataset.sequences.size() + 1);
  first_.push_back(0);
  for (const TokenSequence& sequence : dataset.sequences) {
    const Index targets = std::max<Index>(sequence.size() - 1, 0);
    const Index pieces = targets / block_size + (targets % block_size == 0 ? 0 : 1);
    first_.push_back(first_.back() + pieces);
  }
  require(count() > 0, "[batching] no sequence has two tokens, so there is no target");
}

SequencePieces::Place SequencePieces::place(Index piece) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), piece);
  const auto sequence = static_cast<std::size_t>(std::distance(first_.begin(), after)) - 1;
  const Index begin = (piece - first_[sequence]) * block_size_;
  const Index rest = dataset_->sequences[sequence].size() - begin;
  return {sequence, begin, rest - 1 > block_size_ ? block_size_ + 1 : rest};
}

Index SequencePieces::length(Index piece) const { return place(piece).length; }

std::vector<std::int32_t> SequencePieces::tokens(Index piece) const {
  const Place where = place(piece);
  return dataset_->sequences[where.sequence].tokens(where.begin, where.length);
}

}  // namespace headlight
