#include "headlight/datasets/dataset.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "headlight/base/error.h"

namespace headlight {
namespace {

Index count_tokens(const TokenSequences& sequences) {
  Index count = 0;
  sequences.for_each_lengths([&](std::span<const Index> lengths) {
    count = std::accumulate(lengths.begin(), lengths.end(), count);
  });
  return count;
}

// Puts `first` before `ids` without copying them. Returns `ids` unchanged if they begin with
// `first` already or `first` is -1.
TokenSequence begun_with(std::int32_t first, TokenSequence ids) {
  if (first < 0 || ids.empty() || ids.tokens(0, 1).front() == first) {
    return ids;
  }
  std::vector<TokenSequence> parts;
  parts.push_back({first});
  parts.push_back(std::move(ids));
  return join_sequences(std::move(parts));
}

// Removes the ends that the ids have already, so that documents have each of them once.
void remove_ends(std::vector<std::int32_t>& ids, const DocumentEnds& ends) {
  if (!ids.empty() && ids.back() == ends.end) {
    ids.pop_back();
  }
  if (!ids.empty() && ends.begin == ids.front()) {
    ids.erase(ids.begin());
  }
}

}  // namespace

TokenDataset stream_dataset(TokenSequence ids) {
  require(!ids.empty(), "[stream_dataset] the stream has no tokens");
  TokenDataset dataset;
  dataset.token_count = ids.size();
  dataset.sequences.push_back(std::move(ids));
  return dataset;
}

std::int32_t DocumentEnds::document_end() const {
  require(end >= 0, "documents: the tokenizer has no end-of-text token; set documents = none");
  return end;
}

TokenDataset stream_dataset(TokenSequence ids, const DocumentEnds& ends) {
  TokenDataset dataset = stream_dataset(begun_with(ends.window_begin(), std::move(ids)));
  dataset.window_begin = ends.window_begin();
  return dataset;
}

TokenDataset document_dataset(std::vector<std::vector<std::int32_t>> documents,
                              const DocumentEnds& ends) {
  for (auto& ids : documents) {
    remove_ends(ids, ends);
  }
  std::erase_if(documents, [](const auto& ids) { return ids.empty(); });
  require(!documents.empty(), "[document_dataset] no document has a token");
  for (auto& ids : documents) {
    ids.reserve(ids.size() + 2);
    if (ends.begin) {
      ids.insert(ids.begin(), *ends.begin);
    }
    ids.push_back(ends.document_end());
  }
  TokenDataset dataset{TokenSequences(std::make_move_iterator(documents.begin()),
                                      std::make_move_iterator(documents.end())),
                       0, true, ends.end, ends.window_begin()};
  dataset.token_count = count_tokens(dataset.sequences);
  return dataset;
}

TokenDataset encode_dataset(std::string_view text, const DocumentSplitOptions& options,
                            const Encode& encode, const DocumentEnds& ends) {
  if (options.mode == DocumentSplit::none) {
    return stream_dataset(encode(text), ends);
  }
  std::vector<std::vector<std::int32_t>> documents;
  for (std::string& document : split_documents(text, options)) {
    documents.push_back(encode(document));
    document = {};  // frees the text, so that memory does not hold the corpus twice
  }
  return document_dataset(std::move(documents), ends);
}

Index kept_for_training(Index total, double validation_fraction) {
  // 0.93 * 100 is slightly less than 93 in binary; the sum corrects the rounding.
  return static_cast<Index>(
      std::floor(static_cast<double>(total) * (1.0 - validation_fraction) + 1e-6));
}

DatasetSplit split_dataset(TokenDataset dataset, double validation_fraction) {
  require(validation_fraction >= 0.0 && validation_fraction < 1.0,
          "[split_dataset] validation fraction must be at least 0 and below 1, got ",
          validation_fraction);
  require(!dataset.sequences.empty(), "[split_dataset] the dataset is empty");
  const Index total =
      dataset.documents ? std::ssize(dataset.sequences) : dataset.sequences.front().size();
  const Index kept = kept_for_training(total, validation_fraction);
  require(kept > 0, "[split_dataset] validation fraction ", validation_fraction, " of ", total,
          dataset.documents ? " documents" : " tokens",
          " leaves none for training; give more text or a fraction of 0");
  DatasetSplit split;
  split.validation.documents = dataset.documents;
  split.validation.end_of_text = dataset.end_of_text;
  split.validation.window_begin = dataset.window_begin;
  split.validation.pairs = dataset.pairs;
  if (dataset.documents) {
    split.validation.sequences = dataset.sequences.take_tail(kept);
  } else if (kept < total) {
    TokenSequence stream = dataset.sequences.take().front();
    TokenSequence tail = stream.take_tail(kept);
    split.validation.sequences.push_back(begun_with(dataset.window_begin, std::move(tail)));
    dataset.sequences.push_back(std::move(stream));
  }
  split.validation.token_count = count_tokens(split.validation.sequences);
  dataset.token_count = count_tokens(dataset.sequences);
  split.train = std::move(dataset);
  return split;
}

bool has_targets(const TokenDataset& dataset) {
  bool any = false;
  dataset.sequences.for_each_lengths([&](std::span<const Index> lengths) {
    any = any || std::any_of(lengths.begin(), lengths.end(), [](Index size) { return size > 1; });
  });
  return any;
}

Index count_token(const TokenDataset& dataset, std::optional<std::int32_t> id) {
  if (!id) {
    return 0;
  }
  Index count = 0;
  for (const TokenSequence& sequence : dataset.sequences) {
    sequence.for_each_part([&](std::span<const std::int32_t> part) {
      count += std::count(part.begin(), part.end(), *id);
    });
  }
  return count;
}

std::vector<std::vector<std::int32_t>> token_ids(TokenDataset dataset) {
  std::vector<std::vector<std::int32_t>> result;
  result.reserve(dataset.sequences.size());
  for (TokenSequence& sequence : dataset.sequences.take()) {
    result.push_back(sequence.take());
  }
  return result;
}

std::vector<std::vector<std::int32_t>> input_ids(TokenDataset dataset) {
  const bool has_end = dataset.documents && dataset.end_of_text >= 0;
  std::vector<std::vector<std::int32_t>> result = token_ids(std::move(dataset));
  for (std::vector<std::int32_t>& ids : result) {
    if (has_end) {
      ids.pop_back();
    }
  }
  return result;
}

std::vector<std::vector<std::int32_t>> cut_windows(std::vector<std::vector<std::int32_t>> sequences,
                                                   std::int32_t begin, Index window) {
  if (begin < 0 || window < 2) {
    return sequences;
  }
  std::vector<std::vector<std::int32_t>> windows;
  for (std::vector<std::int32_t>& ids : sequences) {
    if (std::ssize(ids) <= window) {
      windows.push_back(std::move(ids));
      continue;
    }
    for (auto from = ids.begin() + (ids.front() == begin ? 1 : 0); from != ids.end();) {
      const auto to = from + std::min<std::ptrdiff_t>(window - 1, ids.end() - from);
      windows.push_back({begin});
      windows.back().insert(windows.back().end(), from, to);
      from = to;
    }
  }
  return windows;
}

TokenDataset closed_windows(TokenDataset dataset, std::optional<std::int32_t> begin,
                            std::optional<std::int32_t> end, Index window) {
  const Index room = window - (begin ? 1 : 0) - (end ? 1 : 0);
  require(room >= 1, "[closed_windows] a window of ", window, " tokens has no room for a token");
  TokenDataset result;
  result.documents = true;
  for (const std::vector<std::int32_t>& ids : token_ids(std::move(dataset))) {
    auto from = ids.begin() + (!ids.empty() && begin == ids.front() ? 1 : 0);
    const auto last = ids.end() - (from != ids.end() && end == ids.back() ? 1 : 0);
    while (from != last) {
      const auto to = from + std::min<std::ptrdiff_t>(room, last - from);
      std::vector<std::int32_t> document(from, to);
      if (begin) {
        document.insert(document.begin(), *begin);
      }
      if (end) {
        document.push_back(*end);
      }
      result.token_count += std::ssize(document);
      result.sequences.push_back(std::move(document));
      from = to;
    }
  }
  require(result.token_count > 0, "[closed_windows] expected at least one token, got none");
  return result;
}

Index bytes_in_memory(const TokenDataset& dataset) { return dataset.sequences.bytes_in_memory(); }

}  // namespace headlight
