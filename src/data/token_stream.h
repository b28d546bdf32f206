#pragma once

#include <vector>

#include "headlight/data/dataset.h"

namespace headlight {

// A dataset read as one long stream, without a copy of it. Between two documents stands a single
// <|endoftext|>, although both carry it.
class TokenStream {
 public:
  // The dataset must outlive the stream.
  explicit TokenStream(const TokenDataset& dataset);

  // Tokens of the stream.
  Index size() const { return starts_.back(); }
  // Tokens begin ... begin + count - 1, which must lie inside the stream.
  std::vector<std::int32_t> tokens(Index begin, Index count) const;

 private:
  // True when a document begins with the separator that the one before it ended with.
  bool shares_separator(std::size_t sequence) const;

  const TokenDataset* dataset_;
  std::vector<Index> starts_;  // [sequences + 1] place in the stream of each one's first own token
};

}  // namespace headlight
