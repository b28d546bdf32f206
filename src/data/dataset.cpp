#include "headlight/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "headlight/tensor/error.h"

namespace headlight {
namespace {

Index count_tokens(const std::vector<std::vector<std::int32_t>>& sequences) {
  Index count = 0;
  for (const auto& sequence : sequences) {
    count += static_cast<Index>(sequence.size());
  }
  return count;
}

// Moves everything from place `kept` on into the result.
template <class T>
std::vector<T> take_tail(std::vector<T>& values, Index kept) {
  const auto middle = values.begin() + kept;
  std::vector<T> tail(std::make_move_iterator(middle), std::make_move_iterator(values.end()));
  values.erase(middle, values.end());
  return tail;
}

}  // namespace

TokenDataset stream_dataset(std::vector<std::int32_t> ids) {
  require(!ids.empty(), "[stream_dataset] the stream has no token");
  TokenDataset dataset;
  dataset.token_count = static_cast<Index>(ids.size());
  dataset.sequences.push_back(std::move(ids));
  return dataset;
}

TokenDataset document_dataset(std::vector<std::vector<std::int32_t>> documents,
                              std::int32_t end_of_text) {
  std::erase_if(documents, [](const auto& ids) { return ids.empty(); });
  require(!documents.empty(), "[document_dataset] no document has a token");
  for (auto& ids : documents) {
    ids.reserve(ids.size() + 2);
    ids.insert(ids.begin(), end_of_text);
    ids.push_back(end_of_text);
  }
  TokenDataset dataset{std::move(documents), 0, true, end_of_text};
  dataset.token_count = count_tokens(dataset.sequences);
  return dataset;
}

TokenDataset encode_dataset(std::string_view text, const DocumentSplitOptions& options,
                            const Encode& encode, std::int32_t end_of_text) {
  if (options.mode == DocumentSplit::none) {
    return stream_dataset(encode(text));
  }
  std::vector<std::vector<std::int32_t>> documents;
  for (std::string& document : split_documents(text, options)) {
    documents.push_back(encode(document));
    document = {};  // a corpus need not lie in memory as text and as ids
  }
  return document_dataset(std::move(documents), end_of_text);
}

DatasetSplit split_dataset(TokenDataset dataset, double validation_fraction) {
  require(validation_fraction >= 0.0 && validation_fraction < 1.0,
          "[split_dataset] validation fraction must be at least 0 and below 1, got ",
          validation_fraction);
  require(!dataset.sequences.empty(), "[split_dataset] the dataset is empty");
  const auto total = static_cast<Index>(dataset.documents ? dataset.sequences.size()
                                                          : dataset.sequences.front().size());
  // 0.93 * 100 is a little less than 93 in binary; the sum keeps such products whole.
  const auto kept = static_cast<Index>(
      std::floor(static_cast<double>(total) * (1.0 - validation_fraction) + 1e-6));
  require(kept > 0, "[split_dataset] validation fraction ", validation_fraction, " of ", total,
          dataset.documents ? " documents" : " tokens", " leaves none for training");
  DatasetSplit split;
  split.validation.documents = dataset.documents;
  split.validation.end_of_text = dataset.end_of_text;
  if (dataset.documents) {
    split.validation.sequences = take_tail(dataset.sequences, kept);
  } else if (kept < total) {
    split.validation.sequences.push_back(take_tail(dataset.sequences.front(), kept));
  }
  split.validation.token_count = count_tokens(split.validation.sequences);
  dataset.token_count -= split.validation.token_count;
  split.train = std::move(dataset);
  return split;
}

bool has_targets(const TokenDataset& dataset) {
  return std::any_of(dataset.sequences.begin(), dataset.sequences.end(),
                     [](const auto& sequence) { return sequence.size() > 1; });
}

Index count_token(const TokenDataset& dataset, std::optional<std::int32_t> id) {
  if (!id) {
    return 0;
  }
  Index count = 0;
  for (const auto& sequence : dataset.sequences) {
    count += std::count(sequence.begin(), sequence.end(), *id);
  }
  return count;
}

}  // namespace headlight
