#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Value in Batch::targets of positions without a next token to predict.
inline constexpr std::int32_t kIgnoreTarget = -1;

// B sequences of different lengths laid end to end. The transformer computes in this form, so that
// padding costs nothing and cannot leak. N is the total number of tokens.
struct Batch {
  Tensor tokens;               // [N] int32
  Tensor positions;            // [N] int32, position of each token in its sequence
  Tensor targets;              // [N] int32, next token or kIgnoreTarget; undefined for inference
  std::vector<Index> offsets;  // [B + 1]: sequence b is tokens offsets[b] ... offsets[b + 1] - 1
  Index target_count = 0;      // targets that are not kIgnoreTarget
  // [B]: number of each sequence in its dataset; [B / 2] of each pair. Empty: not known, as for
  // blocks of a stream.
  std::vector<Index> records = {};
  // Sequences 2 i and 2 i + 1 are a pair: the preferred and the rejected answer to one prompt.
  bool pairs = false;

  // Number of terms of the loss: its targets, or its pairs.
  Index loss_terms() const { return pairs ? sequence_count() / 2 : target_count; }
  Index sequence_count() const { return static_cast<Index>(offsets.size()) - 1; }
  Index token_count() const { return offsets.back(); }
};

// Returns a batch of sequences of token ids. Targets are each sequence shifted by one; the last
// position of a sequence has none. Throws Error for no sequences or an empty sequence.
Batch make_batch(const std::vector<std::vector<std::int32_t>>& sequences);

// Returns a batch of tokens that continue sequences: sequence b begins at position lengths[b].
Batch continue_sequences(const std::vector<std::vector<std::int32_t>>& tokens,
                         const std::vector<Index>& lengths);

// Returns shard `shard` of `shards` with about equal numbers of tokens: consecutive whole
// sequences, or pairs of them, possibly none. The tensors share memory with the batch.
Batch shard_of(const Batch& batch, Index shard, Index shards);

// Returns the row of each sequence's last token: [N, ...] -> [B, ...].
Tensor last_rows(const Tensor& rows, const Batch& batch);

// Returns the last token of each sequence, at its position, as B sequences of length 1.
Batch last_tokens(const Batch& batch);

// B sequences as rows of equal length, padded on the right, as other libraries hold a batch. Models
// take a Batch; see remove_padding().
struct PaddedBatch {
  Tensor tokens;               // [B, T] int32, pad_id after the end of a sequence
  Tensor padding_mask;         // [B, T] bool, true = pad (hidden)
  std::vector<Index> lengths;  // [B] real tokens of each sequence
};

// Pads on the right to the longest sequence, or to `width` if that is larger.
PaddedBatch pad_sequences(const std::vector<std::vector<std::int32_t>>& sequences,
                          std::int32_t pad_id, Index width = 0);

// Returns the real tokens of a padded batch and drops empty sequences. Throws Error when the
// padding mask is not a suffix of each row.
Batch remove_padding(const PaddedBatch& padded);

}  // namespace headlight
