#include "headlight/datasets/dataset_parts.h"

#include <algorithm>
#include <utility>

#include "headlight/base/error.h"

namespace headlight {
namespace {

TokenDataset join_streams(std::vector<TokenDataset> parts, const DocumentEnds& ends) {
  std::vector<TokenSequence> ids;
  for (TokenDataset& part : parts) {
    // A file of ids may already end with the separator.
    if (!ids.empty() && ids.back().back() != ends.end) {
      ids.push_back({ends.end});
    }
    ids.push_back(part.sequences.take().front());
  }
  return stream_dataset(join_sequences(std::move(ids)), ends);
}

// Returns a stream with the ends of a document around it; its ids are not copied.
TokenSequences document_of(TokenDataset stream, const DocumentEnds& ends) {
  std::vector<TokenSequence> parts;
  TokenSequence ids = stream.sequences.take().front();
  if (ends.begin && ids.front() != *ends.begin) {
    parts.push_back({*ends.begin});
  }
  parts.push_back(std::move(ids));
  parts.push_back({ends.document_end()});
  return {join_sequences(std::move(parts))};
}

TokenDataset join_documents(std::vector<TokenDataset> parts, const DocumentEnds& ends) {
  TokenDataset whole;
  whole.documents = true;
  whole.end_of_text = ends.end;
  whole.window_begin = ends.window_begin();
  whole.pairs = parts.front().pairs;
  std::vector<TokenSequences> sequences;
  for (TokenDataset& part : parts) {
    require(part.pairs == whole.pairs,
            "data: expected files of one kind, got pairs of answers and other texts");
    const bool is_stream = !part.documents && !part.sequences.empty();
    const Index tokens = part.token_count;
    sequences.push_back(is_stream ? document_of(std::move(part), ends) : std::move(part.sequences));
    whole.token_count += is_stream ? sequences.back().front().size() : tokens;
  }
  whole.sequences = join_lists(std::move(sequences));
  return whole;
}

}  // namespace

TokenDataset join_datasets(std::vector<TokenDataset> parts, const DocumentEnds& ends) {
  require(!parts.empty(), "[join_datasets] there is no dataset");
  if (parts.size() == 1) {
    return std::move(parts.front());
  }
  const bool documents = std::any_of(parts.begin(), parts.end(),
                                     [](const TokenDataset& part) { return part.documents; });
  return documents ? join_documents(std::move(parts), ends) : join_streams(std::move(parts), ends);
}

TokenDataset mix_datasets(std::vector<TokenDataset> parts, const std::vector<Index>& weights,
                          const DocumentEnds& ends) {
  require(parts.size() == weights.size(), "[mix_datasets] ", parts.size(), " parts and ",
          weights.size(), " weights");
  const bool documents = std::any_of(parts.begin(), parts.end(),
                                     [](const TokenDataset& part) { return part.documents; });
  std::vector<DatasetShare> shares;
  Index first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TokenDataset& part = parts[i];
    const Index count = documents ? std::ssize(part.sequences) : part.token_count;
    shares.push_back({.first = first, .count = count, .weight = weights[i]});
    const bool adds_end = !documents && part.sequences.front().back() != ends.end;
    first += count + (adds_end ? 1 : 0);
  }
  TokenDataset whole = join_datasets(std::move(parts), ends);
  whole.shares = std::move(shares);
  return whole;
}

DatasetSplit split_each(std::vector<TokenDataset> parts, double validation_fraction,
                        const DocumentEnds& ends) {
  if (parts.size() == 1) {
    return split_dataset(std::move(parts.front()), validation_fraction);
  }
  std::vector<TokenDataset> train;
  std::vector<TokenDataset> validation;
  Index seen = 0;  // documents
  for (TokenDataset& part : parts) {
    double fraction = validation_fraction;
    if (part.documents) {
      const auto count = static_cast<Index>(part.sequences.size());
      const Index kept = kept_for_training(seen + count, validation_fraction) -
                         kept_for_training(seen, validation_fraction);
      seen += count;
      if (kept == 0) {
        validation.push_back(std::move(part));
        continue;
      }
      fraction = 1.0 - static_cast<double>(kept) / static_cast<double>(count);
    } else if (kept_for_training(part.token_count, validation_fraction) == 0) {
      fraction = 0;  // too short to split
    }
    DatasetSplit split = split_dataset(std::move(part), fraction);
    train.push_back(std::move(split.train));
    if (!split.validation.sequences.empty()) {
      validation.push_back(std::move(split.validation));
    }
  }
  require(!train.empty(), "[split_dataset] validation fraction ", validation_fraction, " of ", seen,
          " documents leaves none for training; give more text or a fraction of 0");
  DatasetSplit whole;
  whole.train = join_datasets(std::move(train), ends);
  if (validation.empty()) {
    whole.validation.documents = whole.train.documents;
    whole.validation.end_of_text = whole.train.end_of_text;
    whole.validation.window_begin = whole.train.window_begin;
    whole.validation.pairs = whole.train.pairs;
  } else {
    whole.validation = join_datasets(std::move(validation), ends);
  }
  return whole;
}

DatasetSplit split_at_random(std::vector<TokenDataset> parts, double validation_fraction,
                             std::uint64_t seed, const DocumentEnds& ends) {
  TokenDataset whole = join_datasets(std::move(parts), ends);
  require_value(whole.documents, "split_seed",
                "draws documents at random, but the text is one stream; set documents to line, "
                "blank_line or token, or split_seed = 0");
  whole.sequences = shuffled(std::move(whole.sequences), seed);
  return split_dataset(std::move(whole), validation_fraction);
}

}  // namespace headlight
