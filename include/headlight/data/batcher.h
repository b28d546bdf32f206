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

// In which order documents come; the numbers stand in checkpoints. Earlier ways are kept, so that
// runs go on as they began.
enum class DocumentOrder {
  listed = 1,    // the Fisher-Yates shuffle of a list of all documents
  computed = 2,  // a permutation of which every number is computed by itself, without a list
};

template <>
inline constexpr auto kChoices<DocumentOrder> = std::to_array<Choice<DocumentOrder>>(
    {{"computed", DocumentOrder::computed}, {"listed", DocumentOrder::listed}});

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
  DocumentOrder order = DocumentOrder::computed;  // padded and bucketed, without shares
};

class BatchSource;  // one per way of batching; src/data/batch_source.h

// Training batches without end. Batch `index` is a function of the dataset, the options and `index`
// alone, so that resuming a run needs no saved state.
//
// padded and bucketed walk through the dataset in epochs, each in an order of its own, in which
// every target comes exactly once; the last batch of the order may be smaller. packed draws B start
// places uniformly and independently, as nanoGPT does; a stream too short for a block is taken
// whole.
//
// Of a dataset with shares every round of as many sequences as the sum of their weights has as many
// from each share as its weight says. padded and bucketed walk through each share in epochs of its
// own, and all batches are full.
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
  // for several threads at once: the order of one epoch, or window, is kept for the next call.
  Batch batch(Index index);
  // The token sequences that batch `index` is made of, each with its last target: 2 ... T + 1
  // tokens.
  std::vector<std::vector<std::int32_t>> sequences(Index index);
  // Batches in which every target comes once; for packed, and with shares, batches with as many
  // targets, or sequences, as there are, rounded up.
  Index batches_per_epoch() const;

 private:
  std::unique_ptr<BatchSource> source_;
  std::int32_t pad_id_ = 0;
};

}  // namespace headlight
