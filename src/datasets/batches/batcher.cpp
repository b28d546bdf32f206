#include "headlight/datasets/batches/batcher.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "datasets/batches/batch_source.h"
#include "headlight/base/error.h"
#include "headlight/datasets/batches/sequence_pieces.h"
#include "headlight/datasets/batches/training_batch.h"

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

Batch Batcher::batch(Index index) {
  Batch batch = training_batch(sequences(index));
  batch.records = source_->records(index);
  return batch;
}

std::vector<std::vector<std::int32_t>> Batcher::sequences(Index index) {
  require(index >= 0, "[Batcher] batch index must not be negative, got ", index);
  return source_->sequences(index);
}

Index Batcher::batches_per_epoch() const { return source_->batches_per_epoch(); }

Index most_batch_tokens(const TokenDataset& dataset, const BatcherOptions& options) {
  if (options.batching == Batching::packed) {
    const bool is_short = options.repeat_share == 0 && dataset.token_count <= options.block_size;
    return options.batch_size * (is_short ? dataset.token_count - 1 : options.block_size);
  }
  const SequencePieces pieces(dataset, options.block_size);
  std::vector<Index> inputs;
  for (Index piece = 0; piece < pieces.count(); ++piece) {
    inputs.push_back(pieces.length(piece) - 1);
  }
  const auto end = inputs.begin() + std::min<Index>(options.batch_size, std::ssize(inputs));
  std::partial_sort(inputs.begin(), end, inputs.end(), std::greater<>());
  // A share with few sequences can give the longest one several times.
  return dataset.shares.empty() ? std::accumulate(inputs.begin(), end, Index{0})
                                : options.batch_size * inputs.front();
}

}  // namespace headlight
