#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/transformed.h"
#include "datasets/batches/batch_source.h"
#include "datasets/batches/mixture.h"
#include "datasets/batches/permutation.h"
#include "headlight/base/error.h"
#include "headlight/datasets/batches/sequence_pieces.h"
#include "headlight/tensor/random.h"

namespace headlight {
namespace {

RandomStream order_of(const BatcherOptions& options, Index epoch) {
  return RandomStream{options.seed, kDataOrderStream}.fork(static_cast<std::uint64_t>(epoch));
}

// The order in which the pieces of a dataset are used for training. Without shares, each epoch has
// every piece once. Otherwise each share has its own epochs, and the whole run is one epoch.
class PieceOrder {
 public:
  PieceOrder(const TokenDataset& dataset, const SequencePieces& pieces,
             const BatcherOptions& options)
      : options_(options), epoch_size_(pieces.count()) {
    if (dataset.shares.empty()) {
      return;
    }
    require(dataset.documents, "[Batcher] shares of a stream need packed batching");
    for (const DatasetShare& share : dataset.shares) {
      const Index first = pieces.first_piece(share.first);
      const Index end = pieces.first_piece(share.first + share.count);
      require(end > first, "[Batcher] a share has no sequence of two tokens");
      shares_.push_back({.first = first, .count = end - first, .weight = share.weight});
    }
    mixture_.emplace(weights_of(shares_), RandomStream{options.seed, kMixtureStream});
    epoch_size_ = std::numeric_limits<Index>::max();
  }

  // Number of pieces of an epoch; the last batch may be smaller.
  Index epoch_size() const { return epoch_size_; }

  // Returns the number of the piece at position `index` of an epoch.
  Index piece(Index epoch, Index index) const {
    if (!mixture_) {
      return Permutation(epoch_size_, order_of(options_, epoch))(index);
    }
    const Mixture::Draw draw = mixture_->at(index);
    const DatasetShare& share = shares_[draw.source];
    const RandomStream random =
        order_of(options_, draw.number / share.count).fork(~std::uint64_t{draw.source});
    return share.first + Permutation(share.count, random)(draw.number % share.count);
  }

 private:
  BatcherOptions options_;
  Index epoch_size_;
  std::vector<DatasetShare> shares_;  // in pieces
  std::optional<Mixture> mixture_;    // mixture of shares_; none: no shares
};

class DocumentSource final : public BatchSource {
 public:
  DocumentSource(const TokenDataset& dataset, const BatcherOptions& options)
      : options_(options),
        pieces_(dataset, options.block_size),
        order_(dataset, pieces_, options),
        batches_(divided_up(order_.epoch_size(), options.batch_size)) {
    // min() prevents an overflow: a huge window is the whole epoch.
    window_ = options.batching == Batching::bucketed
                  ? std::min(options.bucket_window, batches_per_epoch())
                  : 1;
  }

  Index batches_per_epoch() const override {
    return divided_up(pieces_.count(), options_.batch_size);
  }

  std::vector<std::vector<std::int32_t>> sequences(Index index) override {
    return transformed(pieces_of(index), [&](Index piece) { return pieces_.tokens(piece); });
  }
  std::vector<Index> records(Index index) override {
    return transformed(pieces_of(index),
                       [&](Index piece) { return static_cast<Index>(pieces_.at(piece).sequence); });
  }

 private:
  std::span<const Index> pieces_of(Index index) {
    const Index epoch = index / batches_;
    const Index batch = index % batches_;
    const Index window = batch / window_;
    set_window(epoch, window);
    const Index in_window = std::min(window_, batches_ - window * window_);
    // set_window() sorts the pieces of a window of bucket_window batches by length. The batches of
    // a window come in random order.
    const RandomStream random =
        order_of(options_, epoch).fork(static_cast<std::uint64_t>(window) + 1);
    const Index begin = Permutation(in_window, random)(batch % window_) * options_.batch_size;
    const Index count = std::min(options_.batch_size, std::ssize(kept_) - begin);
    return {kept_.data() + begin, static_cast<std::size_t>(count)};
  }

  void set_window(Index epoch, Index window) {
    if (std::pair(epoch, window) == kept_of_) {
      return;
    }
    const Index size = window_ * options_.batch_size;
    const Index begin = window * size;
    kept_.clear();
    for (Index i = begin; i < begin + std::min(size, order_.epoch_size() - begin); ++i) {
      kept_.push_back(order_.piece(epoch, i));
    }
    if (window_ > 1) {
      sort_kept();
    }
    kept_of_ = {epoch, window};
  }

  void sort_kept() {
    std::vector<std::pair<Index, Index>> by_length;  // length and piece
    for (const Index piece : kept_) {
      by_length.emplace_back(pieces_.length(piece), piece);
    }
    std::stable_sort(by_length.begin(), by_length.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(by_length.begin(), by_length.end(), kept_.begin(),
                   [](const auto& item) { return item.second; });
  }

  BatcherOptions options_;
  SequencePieces pieces_;
  PieceOrder order_;
  Index batches_;                           // batches of an epoch of the order
  Index window_ = 1;                        // number of batches whose pieces are sorted together
  std::pair<Index, Index> kept_of_{-1, 0};  // epoch and window
  std::vector<Index> kept_;                 // the window's pieces
};

}  // namespace

std::unique_ptr<BatchSource> make_document_source(const TokenDataset& dataset,
                                                  const BatcherOptions& options) {
  return std::make_unique<DocumentSource>(dataset, options);
}

}  // namespace headlight
