#include <algorithm>
#include <numeric>
#include <utility>

#include "data/batch_source.h"
#include "headlight/data/sequence_pieces.h"
#include "headlight/tensor/random.h"

namespace headlight {
namespace {

// Returns 0 ... count - 1 in random order, by the Fisher-Yates shuffle.
std::vector<Index> permutation(Index count, const RandomStream& random) {
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i - 1, i))]);
  }
  return order;
}

class ListedSource final : public BatchSource {
 public:
  ListedSource(const TokenDataset& dataset, const BatcherOptions& options)
      : options_(options), pieces_(dataset, options.block_size) {
    batches_ = divided_up(pieces_.count(), options.batch_size);
  }

  Index batches_per_epoch() const override { return batches_; }

  std::vector<std::vector<std::int32_t>> sequences(Index index) override {
    set_epoch(index / batches_);
    const Index batch = batch_order_[static_cast<std::size_t>(index % batches_)];
    const Index begin = batch * options_.batch_size;
    const Index end = std::min(begin + options_.batch_size, pieces_.count());
    std::vector<std::vector<std::int32_t>> result;
    result.reserve(static_cast<std::size_t>(end - begin));
    for (Index i = begin; i < end; ++i) {
      result.push_back(pieces_.tokens(piece_order_[static_cast<std::size_t>(i)]));
    }
    return result;
  }

 private:
  void set_epoch(Index epoch) {
    if (epoch == epoch_) {
      return;
    }
    const RandomStream random =
        RandomStream{options_.seed, kDataOrderStream}.fork(static_cast<std::uint64_t>(epoch));
    piece_order_ = permutation(pieces_.count(), random);
    if (options_.batching == Batching::bucketed) {
      sort_windows();
      batch_order_ = permutation(batches_, random.fork(0));
    } else {
      batch_order_.resize(static_cast<std::size_t>(batches_));
      std::iota(batch_order_.begin(), batch_order_.end(), Index{0});
    }
    epoch_ = epoch;
  }

  void sort_windows() {
    const Index count = pieces_.count();
    // min() prevents an overflow: a huge window is the whole epoch.
    const Index window = std::min(options_.bucket_window, batches_) * options_.batch_size;
    for (Index begin = 0; begin < count; begin += window) {
      const auto first = piece_order_.begin() + begin;
      std::stable_sort(first, first + std::min(window, count - begin),
                       [this](Index a, Index b) { return pieces_.length(a) < pieces_.length(b); });
    }
  }

  BatcherOptions options_;
  SequencePieces pieces_;
  Index batches_ = 0;
  Index epoch_ = -1;                // the epoch of the two orders
  std::vector<Index> piece_order_;  // [pieces]
  std::vector<Index> batch_order_;  // [batches]
};

}  // namespace

std::unique_ptr<BatchSource> make_listed_source(const TokenDataset& dataset,
                                                const BatcherOptions& options) {
  return std::make_unique<ListedSource>(dataset, options);
}

}  // namespace headlight
