#pragma once

#include <memory>
#include <vector>

#include "headlight/datasets/batches/batcher.h"

namespace headlight {

// The token sequences of batch 0, 1, 2, ...; one implementation per way of batching.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual Index batches_per_epoch() const = 0;
  // `index` is not negative.
  virtual std::vector<std::vector<std::int32_t>> sequences(Index index) = 0;
  // Returns Batch::records of the sequences.
  virtual std::vector<Index> records(Index /*index*/) { return {}; }
};

// Whole documents in random order, sorted by length inside windows when bucketed.
std::unique_ptr<BatchSource> make_document_source(const TokenDataset& dataset,
                                                  const BatcherOptions& options);

// Blocks from random positions of one stream.
std::unique_ptr<BatchSource> make_block_source(const TokenDataset& dataset,
                                               const BatcherOptions& options);

// Sequences of another source, some of them replaced by repeated random tokens; see
// BatcherOptions::repeat_share.
std::unique_ptr<BatchSource> make_repeat_source(const TokenDataset& dataset,
                                                const BatcherOptions& options,
                                                std::unique_ptr<BatchSource> others);

// Data order, initialisation and dropout share a seed, but use different random streams.
inline constexpr std::uint64_t kDataOrderStream = 0x64617461;  // "data"
inline constexpr std::uint64_t kRepeatStream = 0x72657074;     // "rept"
inline constexpr std::uint64_t kMixtureStream = 0x6d697874;    // "mixt"

// Returns the weights of the shares; see Mixture.
std::vector<Index> weights_of(const std::vector<DatasetShare>& shares);

}  // namespace headlight
