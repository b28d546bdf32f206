#include "headlight/datasets/batches/sequence_pieces.h"

#include <algorithm>

#include "datasets/batches/running_sums.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr Index kNoCut = Index{1} << 40;  // tokens: longer than any sequence

}  // namespace

SequencePieces::SequencePieces(const TokenDataset& dataset, Index block_size)
    : dataset_(&dataset), block_size_(dataset.pairs ? kNoCut : block_size) {
  require(block_size >= 1, "[batching] block_size must be at least 1, got ", block_size);
  const auto pieces_of = [&dataset, size = block_size_](Index first, std::span<Index> pieces) {
    dataset.sequences.lengths(first, pieces);
    for (Index& length : pieces) {
      length = divided_up(std::max<Index>(length - 1, 0), size);
    }
  };
  pieces_ = std::make_shared<const RunningSums>(std::ssize(dataset.sequences), pieces_of);
  require(count() > 0, "[batching] no sequence has two tokens, so there is no target");
}

Index SequencePieces::count() const { return pieces_->total(); }

Index SequencePieces::first_piece(Index sequence) const { return pieces_->before(sequence); }

SequencePieces::Piece SequencePieces::at(Index piece) const {
  const RunningSums::Item item = pieces_->find(piece);
  const auto sequence = static_cast<std::size_t>(item.number);
  const Index begin = (piece - item.before) * block_size_;
  Index length = 0;
  dataset_->sequences.lengths(item.number, {&length, 1});
  const Index rest = length - begin;
  return {sequence, begin, rest - 1 > block_size_ ? block_size_ + 1 : rest};
}

Index SequencePieces::length(Index piece) const { return at(piece).length; }

std::vector<std::int32_t> SequencePieces::tokens(Index piece) const {
  const Piece where = at(piece);
  std::vector<std::int32_t> ids =
      dataset_->sequences[where.sequence].tokens(where.begin, where.length);
  if (where.begin > 0 && dataset_->window_begin >= 0) {
    ids.front() = dataset_->window_begin;
  }
  return ids;
}

}  // namespace headlight
