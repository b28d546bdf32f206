#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/datasets/dataset.h"
#include "headlight/nn/batch.h"

namespace headlight {

// How sequences are combined into batches.
enum class Batching {
  padded,    // documents in random order: a batch is ragged, its rectangle holds many pads
  bucketed,  // like padded, but documents of similar length share a batch: few pads
  packed,    // blocks from random positions of one stream, all of the same length: no pads
};

template <>
inline constexpr auto kChoices<Batching> = std::to_array<Choice<Batching>>(
    {{"padded", Batching::padded}, {"bucketed", Batching::bucketed}, {"packed", Batching::packed}});

struct BatcherOptions {
  Batching batching = Batching::packed;
  Index batch_size = 12;      // B: sequences per batch
  Index block_size = 1024;    // T: most input tokens per sequence; longer documents are cut
  std::uint64_t seed = 1337;  // seed of the data order
  Index bucket_window = 64;   // bucketed: number of batches whose documents are sorted together
  // packed: share of sequences that repeat random tokens of the stream; 0 to 1. Such a sequence
  // repeats one random piece, 2 tokens to half a block long, until it is full. The next token can
  // then be predicted only from an earlier occurrence.
  double repeat_share = 0;

  bool operator==(const BatcherOptions&) const = default;
};

class BatchSource;  // one per way of batching; src/datasets/batches/batch_source.h

// Endless training batches. Batch `index` depends only on the dataset, the options and `index`, so
// that resuming a run needs no saved state.
//
// padded and bucketed traverse the dataset in epochs. Each epoch has its own order, in which every
// target occurs exactly once; the last batch may be smaller. packed draws B start positions
// uniformly and independently, as nanoGPT does; a stream shorter than a block is taken whole.
//
// In a dataset with shares, each round has as many sequences as the sum of the weights, and each
// share gives its weight's number of sequences. padded and bucketed then traverse each share in its
// own epochs, and all batches are full.
class Batcher {
 public:
  // The dataset must outlive the batcher. Throws Error if an option is out of range or the dataset
  // has no target.
  Batcher(const TokenDataset& dataset, const BatcherOptions& options);
  Batcher(TokenDataset&& dataset, const BatcherOptions& options) = delete;
  ~Batcher();

  // Returns at most [B * T] inputs with their targets. Throws Error if `index` is negative. Not
  // thread-safe: it caches the order of one epoch or window.
  Batch batch(Index index);
  // Returns the token sequences of batch `index`, each with its last target: 2 ... T + 1 tokens.
  std::vector<std::vector<std::int32_t>> sequences(Index index);
  // Number of batches in which every target occurs once. For packed: as many targets as the dataset
  // has, rounded up. With shares: as many sequences.
  Index batches_per_epoch() const;

 private:
  std::unique_ptr<BatchSource> source_;
};

// Returns the most input tokens that a batch of a Batcher with these arguments can have: the tokens
// of the longest sequences of the dataset, at most B * T. Pairs of answers count as both answers.
Index most_batch_tokens(const TokenDataset& dataset, const BatcherOptions& options);

}  // namespace headlight
