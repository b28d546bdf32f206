#include "headlight/data/batcher.h"

#include "data/batch_source.h"
#include "headlight/base/error.h"
#include "headlight/data/training_batch.h"

namespace headlight {
namespace {

std::unique_ptr<BatchSource> make_source(const TokenDataset& dataset,
                                         const BatcherOptions& options) {
  require(options.batch_size >= 1, "[Batcher] batch_size must be at least 1, got ",
          options.batch_size);
  require(options.block_size >= 1, "[Batcher] block_size must be at least 1, got ",
          options.block_size);
  require(options.bucket_window >= 1, "[Batcher] bucket_window must be at least 1, got ",
          options.bucket_window);
  require(options.repeat_share >= 0 && options.repeat_share <= 1,
          "[Batcher] repeat_share must be 0 to 1, got ", options.repeat_share);
  require(options.repeat_share == 0 || options.batching == Batching::packed,
          "[Batcher] repeat_share needs packed batching");
  if (options.batching != Batching::packed) {
    return make_document_source(dataset, options);
  }
  auto blocks = make_block_source(dataset, options);
  return options.repeat_share == 0 ? std::move(blocks)
                                   : make_repeat_source(dataset, options, std::move(blocks));
}

}  // namespace

std::vector<Index> weights_of(const std::vector<DatasetShare>& shares) {
  std::vector<Index> weights;
  for (const DatasetShare& share : shares) {
    weights.push_back(share.weight);
  }
  return weights;
}

Batcher::Batcher(const TokenDataset& dataset, const BatcherOptions& options)
    : source_(make_source(dataset, options)) {}

Batcher::~Batcher() = default;

Batch Batcher::batch(Index index) { return training_batch(sequences(index)); }

std::vector<std::vector<std::int32_t>> Batcher::sequences(Index index) {
  require(index >= 0, "[Batcher] batch index must not be negative, got ", index);
  return source_->sequences(index);
}

Index Batcher::batches_per_epoch() const { return source_->batches_per_epoch(); }

}  // namespace headlight
