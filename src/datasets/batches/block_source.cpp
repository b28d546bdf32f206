#include <algorithm>
#include <limits>
#include <optional>

#include "datasets/batches/batch_source.h"
#include "datasets/batches/mixture.h"
#include "datasets/token_stream.h"
#include "headlight/base/error.h"
#include "headlight/tensor/random.h"

namespace headlight {
namespace {

class BlockSource final : public BatchSource {
 public:
  BlockSource(const TokenDataset& dataset, const BatcherOptions& options)
      : options_(options), stream_(dataset) {
    require(stream_.size() >= 2, "[Batcher] the stream has ", stream_.size(),
            " tokens, expected at least 2");
    inputs_ = std::min(options.block_size, stream_.size() - 1);
    for (const DatasetShare& share : dataset.shares) {
      const Index first = dataset.documents ? stream_.start(share.first) : share.first;
      const Index end =
          dataset.documents ? stream_.start(share.first + share.count) : share.first + share.count;
      require(end - first >= 2, "[Batcher] a share has ", end - first,
              " tokens, expected at least 2");
      shares_.push_back({.first = first, .count = end - first, .weight = share.weight});
    }
    if (!shares_.empty()) {
      mixture_.emplace(weights_of(shares_), RandomStream{options.seed, kMixtureStream});
    }
    require(options.batch_size <= std::numeric_limits<std::int32_t>::max() / inputs_,
            "[Batcher] batch_size ", options.batch_size, " x ", inputs_,
            " tokens is too large for one batch");
  }

  Index batches_per_epoch() const override {
    return divided_up(divided_up(stream_.size() - 1, inputs_), options_.batch_size);
  }

  std::vector<std::vector<std::int32_t>> sequences(Index index) override {
    const RandomStream random =
        RandomStream{options_.seed, kDataOrderStream}.fork(static_cast<std::uint64_t>(index));
    std::vector<std::vector<std::int32_t>> result;
    result.reserve(static_cast<std::size_t>(options_.batch_size));
    for (Index b = 0; b < options_.batch_size; ++b) {
      const DatasetShare share = share_of(index * options_.batch_size + b);
      const Index inputs = std::min(inputs_, share.count - 1);
      const auto starts = static_cast<std::uint64_t>(share.count - inputs);
      const auto begin = static_cast<Index>(random.below(static_cast<std::uint64_t>(b), starts));
      result.push_back(stream_.tokens(share.first + begin, inputs + 1));
    }
    return result;
  }

 private:
  // Returns the part of the stream from which sequence `number` of the run is drawn.
  DatasetShare share_of(Index number) const {
    return mixture_ ? shares_[mixture_->at(number).source]
                    : DatasetShare{.first = 0, .count = stream_.size()};
  }

  BatcherOptions options_;
  TokenStream stream_;
  Index inputs_ = 0;                  // inputs of a block: T, or fewer if the stream is shorter
  std::vector<DatasetShare> shares_;  // in tokens of the stream; empty: no shares
  std::optional<Mixture> mixture_;    // mixture of shares_
};

}  // namespace

std::unique_ptr<BatchSource> make_block_source(const TokenDataset& dataset,
                                               const BatcherOptions& options) {
  return std::make_unique<BlockSource>(dataset, options);
}

}  // namespace headlight
