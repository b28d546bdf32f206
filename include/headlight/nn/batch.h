#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// In Batch::targets: this position has no next token to predict.
inline constexpr std::int32_t kIgnoreTarget = -1;

// B sequences of different lengths laid end to end: the form in which the transformer computes, so
// that pads cost nothing and cannot leak. N is the number of real tokens of the whole batch.
struct Batch {
  Tensor tokens;               // [N] int32
  Tensor positions;            // [N] int32, place of each token in its own sequence
  Tensor targets;              // [N] int32, the next token or kIgnoreTarget; undefined: inference
  std::vector<Index> offsets;  // [B + 1]: sequence b is tokens offsets[b] ... offsets[b + 1] - 1
  Index target_count = 0;      // targets that are not kIgnoreTarget

  Index sequence_count() const { return static_cast<Index>(offsets.size()) - 1; }
  Index token_count() const { return offsets.back(); }
};

// One batch from sequences of token ids; targets are each sequence shifted by one, and the last
// position of a sequence has none. Throws Error when no sequence is given or one is empty.
Batch make_batch(const std::vector<std::vector<std::int32_t>>& sequences);

// The same for tokens that follow others: sequence b begins at position lengths[b].
Batch continue_sequences(const std::vector<std::vector<std::int32_t>>& tokens,
                         const std::vector<Index>& lengths);

// Sequences `first` to `last` - 1 of a batch, which share its elements.
Batch sequences_of(const Batch& batch, Index first, Index last);

// Part `shard` of `shards` with about as many tokens each: whole sequences, in their order; maybe
// none.
Batch shard_of(const Batch& batch, Index shard, Index shards);

// The rows of the last token of each sequence: [N, ...] -> [B, ...].
Tensor last_rows(const Tensor& rows, const Batch& batch);

// Those tokens, at their positions, as B sequences of one.
Batch last_tokens(const Batch& batch);

// B sequences as a rectangle, filled up on the right: the form in which users know batches.
struct PaddedBatch {
  Tensor tokens;               // [B, T] int32, pad_id after the end of a sequence
  Tensor padding_mask;         // [B, T] bool, true = pad (hidden)
  std::vector<Index> lengths;  // [B] real tokens of each sequence
  std::int32_t pad_id = 0;
};

// Right-pads to the longest sequence, or to `width` when that is larger.
PaddedBatch pad_sequences(const std::vector<std::vector<std::int32_t>>& sequences,
                          std::int32_t pad_id, Index width = 0);

// The real tokens of a padded batch; pads disappear. Sequences without any token are dropped.
// Throws Error when the padding mask is not a suffix of each row.
Batch remove_padding(const PaddedBatch& padded);

}  // namespace headlight
