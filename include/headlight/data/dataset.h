#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "headlight/data/documents.h"
#include "headlight/data/token_sequences.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// What one of several weighted sources gave to a dataset: so many of its documents, or of the
// tokens of its stream, from number `first` on.
struct DatasetShare {
  Index first = 0;
  Index count = 0;
  Index weight = 1;  // at least 1
};

// The tokens around a document: <|endoftext|> on both sides for models like GPT-2, <bos> and <eos>
// for others, and nothing in front where a model's prompts begin with nothing.
struct DocumentEnds {
  DocumentEnds(std::int32_t both) : begin(both), end(both) {}  // NOLINT: an id means both
  DocumentEnds(std::optional<std::int32_t> first, std::int32_t last) : begin(first), end(last) {}

  // The token that long sequences have in front of every window: a beginning that is no end.
  std::int32_t window_begin() const { return begin && *begin != end ? *begin : -1; }

  // `end`, for documents. Throws Error if the tokenizer has no token that ends a text.
  std::int32_t document_end() const;

  std::optional<std::int32_t> begin;
  std::int32_t end;  // -1: none
};

// Token ids to train on or to evaluate.
struct TokenDataset {
  // Documents with their DocumentEnds; or a single stream of ids.
  TokenSequences sequences;
  Index token_count = 0;          // of all sequences, separators included
  bool documents = false;         // false: `sequences` holds one stream
  std::int32_t end_of_text = -1;  // last token of every document; -1: none
  // First token of every window of a long sequence and of a stream; see SequencePieces. -1: none.
  std::int32_t window_begin = -1;
  std::vector<DatasetShare> shares = {};  // in which it is trained on; none: all alike
};

// One long stream, without special tokens. Throws Error when it is empty.
TokenDataset stream_dataset(TokenSequence ids);

// One long stream that begins, as do its windows, with ends.window_begin().
TokenDataset stream_dataset(TokenSequence ids, const DocumentEnds& ends);

// Puts the ends around the ids of every document. Documents without any token are dropped. Throws
// Error when none is left.
TokenDataset document_dataset(std::vector<std::vector<std::int32_t>> documents,
                              const DocumentEnds& ends);

using Encode = std::function<std::vector<std::int32_t>(std::string_view)>;

// The dataset of a text: a stream for DocumentSplit::none, else its documents, each turned into ids
// by `encode`. Throws Error when the text holds no document.
TokenDataset encode_dataset(std::string_view text, const DocumentSplitOptions& options,
                            const Encode& encode, const DocumentEnds& ends);

struct DatasetSplit {
  TokenDataset train;
  TokenDataset validation;  // no sequences when the fraction is 0
};

// Documents or tokens of `total` that stay for training: floor(total * (1 - validation_fraction)).
Index kept_for_training(Index total, double validation_fraction);

// Takes the last `validation_fraction` of the documents, or of the stream's tokens, for validation,
// as nanoGPT does: of n, floor(n * (1 - fraction)) stay for training. Throws Error unless
// 0 <= fraction < 1, and when nothing is left for training.
DatasetSplit split_dataset(TokenDataset dataset, double validation_fraction);

// True when anything can be predicted: some sequence has two tokens.
bool has_targets(const TokenDataset& dataset);

// How often an id occurs; no id never does.
Index count_token(const TokenDataset& dataset, std::optional<std::int32_t> id);

// The ids of all sequences. Throws Error when those that lie elsewhere do not fit in memory.
std::vector<std::vector<std::int32_t>> token_ids(TokenDataset dataset);

// Sequences of more than `window` ids, at least 2, cut into `begin` and the next `window` - 1 ids.
// -1: nothing is cut.
std::vector<std::vector<std::int32_t>> cut_windows(std::vector<std::vector<std::int32_t>> sequences,
                                                   std::int32_t begin, Index window);

// What the dataset's ids take in memory; those that are left in files take nothing.
Index bytes_in_memory(const TokenDataset& dataset);

}  // namespace headlight
