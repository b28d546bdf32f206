#include <cmath>

#include "datasets/batches/batch_source.h"
#include "headlight/base/error.h"
#include "headlight/tensor/random.h"

namespace headlight {
namespace {

constexpr Index kShortestPiece = 2;  // a shorter period needs no attention to earlier tokens

// Returns all ids of the dataset in order, without end_of_text. Other ids are never trained.
std::vector<std::int32_t> ids_of(const TokenDataset& dataset) {
  std::vector<bool> occurs;
  const auto see = [&](std::span<const std::int32_t> part) {
    for (const std::int32_t id : part) {
      const auto index = static_cast<std::size_t>(id);
      if (index >= occurs.size()) {
        occurs.resize(index + 1);
      }
      occurs[index] = occurs[index] || id != dataset.end_of_text;
    }
  };
  for (const TokenSequence& sequence : dataset.sequences) {
    sequence.for_each_part(see);
  }
  std::vector<std::int32_t> ids;
  for (std::size_t id = 0; id < occurs.size(); ++id) {
    if (occurs[id]) {
      ids.push_back(static_cast<std::int32_t>(id));
    }
  }
  return ids;
}

class RepeatSource final : public BatchSource {
 public:
  RepeatSource(const TokenDataset& dataset, const BatcherOptions& options,
               std::unique_ptr<BatchSource> others)
      : options_(options), others_(std::move(others)), ids_(ids_of(dataset)) {
    require(options.block_size >= 2 * kShortestPiece, "[Batcher] repeat_share needs a block of ",
            2 * kShortestPiece, " tokens or more, got ", options.block_size);
    require(!ids_.empty(),
            "[Batcher] repeat_share needs a text with tokens other than end-of-text");
  }

  Index batches_per_epoch() const override { return others_->batches_per_epoch(); }

  std::vector<std::vector<std::int32_t>> sequences(Index index) override {
    auto result = others_->sequences(index);
    for (Index b = 0; b < options_.batch_size; ++b) {
      const Index number = index * options_.batch_size + b;
      if (whole_repeats(number + 1) > whole_repeats(number)) {
        result[static_cast<std::size_t>(b)] = repeated(number);
      }
    }
    return result;
  }

 private:
  // Number of repeated sequences among the first `count` of the run; gives the exact share.
  Index whole_repeats(Index count) const {
    return static_cast<Index>(std::floor(static_cast<double>(count) * options_.repeat_share));
  }

  // Returns a sequence of T + 1 tokens, the last target included.
  std::vector<std::int32_t> repeated(Index number) const {
    const RandomStream random =
        RandomStream{options_.seed, kRepeatStream}.fork(static_cast<std::uint64_t>(number));
    const auto lengths = static_cast<std::uint64_t>(options_.block_size / 2 - kShortestPiece + 1);
    const auto length = kShortestPiece + static_cast<Index>(random.below(0, lengths));
    std::vector<std::int32_t> tokens;
    for (Index i = 0; i <= options_.block_size; ++i) {
      tokens.push_back(i < length
                           ? ids_[random.below(1 + static_cast<std::uint64_t>(i), ids_.size())]
                           : tokens[static_cast<std::size_t>(i - length)]);
    }
    return tokens;
  }

  BatcherOptions options_;
  std::unique_ptr<BatchSource> others_;
  std::vector<std::int32_t> ids_;
};

}  // namespace

std::unique_ptr<BatchSource> make_repeat_source(const TokenDataset& dataset,
                                                const BatcherOptions& options,
                                                std::unique_ptr<BatchSource> others) {
  return std::make_unique<RepeatSource>(dataset, options, std::move(others));
}

}  // namespace headlight
