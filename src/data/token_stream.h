#pragma once

#include <vector>

#include "data/running_sums.h"
#include "headlight/data/dataset.h"

namespace headlight {

// A dataset read as one long stream, without a copy of it. Between two documents stands a single
// <|endoftext|>, although both carry it.
class TokenStream {
 public:
  // The dataset must outlive the stream.
  explicit TokenStream(const TokenDataset& dataset);

  // Tokens of the stream.
  Index size() const { return own_.total(); }
  // The place of the first token of a sequence that is its own; of the end, too.
  Index start(Index sequence) const { return own_.before(sequence); }
  // Tokens begin ... begin + count - 1, which must lie inside the stream.
  std::vector<std::int32_t> tokens(Index begin, Index count) const;

 private:
  const TokenDataset* dataset_;
  RunningSums own_;  // tokens of every sequence that the one before does not end with already
};

}  // namespace headlight
