#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/data/dataset.h"
#include "headlight/nn/batch.h"

namespace headlight {

// How sequences are put together into batches.
enum class Batching {
  padded,    // documents in random order: a batch is ragged, its rectangle holds many pads
  bucketed,  // the same, but documents of similar length share a batch: few pads
  packed,    // blocks from random places of one stream, all of the same length: no pads
};

template <>
inline constexpr auto kChoices<Batching> = std::to_array<Choice<Batching>>(
    {{"padded", Batching::padded}, {"bucketed", Batching::bucketed}, {"packed", Batching::packed}});

struct BatcherOptions {
  Batching batching = Batching::packed;
  Index batch_size = 12;      // B: sequences of a batch
  Index block_size = 1024;    // T: most input tokens of a sequence; longer documents are cut
  std::uint64_t seed = 1337;  // of the order of the data
  std::int32_t pad_id = 0;    // fills up the rectangle; never changes a result
  Index bucket_window = 64;   // bucketed: batches whose documents are sorted by length together
  // packed: the share of the sequences that are random tokens of the stream, repeated; 0 to 1. One
  // has a piece of random length, 2 tokens to half a block, again and again until it is full: what
  // comes can only be known from what followed the same token earlier.
  double repeat_share = 0;
};

class BatchSource;  // one per way of batching; src/data/batch_source.h

// Training batches without end. Batch `index` is a function of the dataset, the options and `index`
// alone, so that resuming a run needs no saved state.
//
// padded and bucketed walk through the dataset in epochs, each in an order of its own, in which
// every target comes exactly once; the last batch of the order may be smaller. packed draws B start
// places uniformly and independently, as nanoGPT does; a stream too short for a block is taken
// whole.
class Batcher {
 public:
  // The dataset must outlive the batcher. Throws Error when an option is out of range or the
  // dataset has no target.
  Batcher(const TokenDataset& dataset, const BatcherOptions& options);
  Batcher(TokenDataset&& dataset, const BatcherOptions& options) = delete;
  Batcher(Batcher&& other) noexcept;
  Batcher& operator=(Batcher&& other) noexcept;
  ~Batcher();

  // Inputs, at most [B * T] of them, with their targets. Throws Error when `index` is negative. Not
  // for several threads at once: the order of one epoch is kept for the next call.
  Batch batch(Index index);
  // The token sequences that batch `index` is made of, each with its last target: 2 ... T + 1
  // tokens.
  std::vector<std::vector<std::int32_t>> sequences(Index index);
  // Batches in which every target comes once; for packed, batches with as many targets as the
  // stream has, rounded up.
  Index batches_per_epoch() const;

 private:
  std::unique_ptr<BatchSource> source_;
  std::int32_t pad_id_ = 0;
};

}  // namespace headlight
