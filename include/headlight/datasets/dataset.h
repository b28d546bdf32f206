#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "headlight/datasets/documents.h"
#include "headlight/datasets/token_sequences.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// The part of a dataset that comes from one weighted source: `count` documents, or tokens of the
// stream, from number `first` on.
struct DatasetShare {
  Index first = 0;
  Index count = 0;
  Index weight = 1;  // at least 1
};

// The tokens around a document: <|endoftext|> on both sides for models like GPT-2, <bos> and <eos>
// for others. No begin token if the model's prompts have none.
struct DocumentEnds {
  DocumentEnds(std::int32_t both) : begin(both), end(both) {}  // NOLINT: an id means both
  DocumentEnds(std::optional<std::int32_t> first, std::int32_t last) : begin(first), end(last) {}

  // Token before every window of a long sequence: the begin token, or -1 if it is also the end.
  std::int32_t window_begin() const { return begin && *begin != end ? *begin : -1; }

  // `end`, for documents. Throws Error if the tokenizer has no token that ends a text.
  std::int32_t document_end() const;

  std::optional<std::int32_t> begin;
  std::int32_t end;  // -1: none
};

// Token ids for training or evaluation.
struct TokenDataset {
  // One sequence per document, with the tokens of DocumentEnds, or one sequence: the stream.
  TokenSequences sequences;
  Index token_count = 0;          // all sequences, separators included
  bool documents = false;         // false: `sequences` holds one stream
  std::int32_t end_of_text = -1;  // last token of every document; -1: none
  // First token of every window of a long sequence and of a stream; see SequencePieces. -1: none.
  std::int32_t window_begin = -1;
  std::vector<DatasetShare> shares = {};  // weighted parts for training; none: no weights
  bool pairs = false;  // each sequence is a pair of answers with a kPairBreak between them
};

// Makes one long stream without special tokens. Throws Error if it is empty.
TokenDataset stream_dataset(TokenSequence ids);

// Makes one long stream; the stream and its windows begin with ends.window_begin().
TokenDataset stream_dataset(TokenSequence ids, const DocumentEnds& ends);

// Puts the ends around the ids of every document, unless they are there. Drops documents without
// other tokens. Throws Error if none is left.
TokenDataset document_dataset(std::vector<std::vector<std::int32_t>> documents,
                              const DocumentEnds& ends);

using Encode = std::function<std::vector<std::int32_t>(std::string_view)>;

// Makes the dataset of a text: a stream for DocumentSplit::none, else its documents, each encoded
// by `encode`. Throws Error if the text has no document.
TokenDataset encode_dataset(std::string_view text, const DocumentSplitOptions& options,
                            const Encode& encode, const DocumentEnds& ends);

struct DatasetSplit {
  TokenDataset train;
  TokenDataset validation;  // no sequences if the fraction is 0
};

// Documents or tokens of `total` kept for training: floor(total * (1 - validation_fraction)).
Index kept_for_training(Index total, double validation_fraction);

// Moves the last `validation_fraction` of the documents, or of the stream's tokens, to validation,
// as nanoGPT does: floor(n * (1 - fraction)) of n stay for training. Throws Error unless 0 <=
// fraction < 1, and if nothing is left for training.
DatasetSplit split_dataset(TokenDataset dataset, double validation_fraction);

// True if the dataset has a target: some sequence has at least two tokens.
bool has_targets(const TokenDataset& dataset);

// Number of occurrences of an id; 0 for nullopt.
Index count_token(const TokenDataset& dataset, std::optional<std::int32_t> id);

// Returns the ids of all sequences. Throws Error if ids from files do not fit in memory.
std::vector<std::vector<std::int32_t>> token_ids(TokenDataset dataset);

// Returns the ids that a causal model reads: token_ids() without the end token of each document,
// which it only predicts.
std::vector<std::vector<std::int32_t>> input_ids(TokenDataset dataset);

// Cuts sequences of more than `window` ids into windows: `begin` and the next `window` - 1 ids.
// Cuts nothing if `begin` is -1 or `window` is below 2.
std::vector<std::vector<std::int32_t>> cut_windows(std::vector<std::vector<std::int32_t>> sequences,
                                                   std::int32_t begin, Index window);

// Cuts every sequence, without the ends that it may have, into documents of at most `window` tokens
// with these ends (null: none): the sequences of a bidirectional model, which also reads its end
// token. Throws Error if no token is left, or for windows too small for a token.
TokenDataset closed_windows(TokenDataset dataset, std::optional<std::int32_t> begin,
                            std::optional<std::int32_t> end, Index window);

// Memory of the dataset's ids in bytes. Ids left in files take none.
Index bytes_in_memory(const TokenDataset& dataset);

}  // namespace headlight
