#pragma once

#include <vector>

#include "datasets/batches/running_sums.h"
#include "headlight/datasets/dataset.h"

namespace headlight {

// A dataset read as one long stream, without a copy. Between two documents there is one
// <|endoftext|>, although both contain it.
class TokenStream {
 public:
  // The dataset must outlive the stream.
  explicit TokenStream(const TokenDataset& dataset);

  // Tokens of the stream.
  Index size() const { return own_.total(); }
  // Position of the first token that a sequence does not share with the previous one.
  Index start(Index sequence) const { return own_.before(sequence); }
  // Returns the tokens begin ... begin + count - 1, which must be inside the stream.
  std::vector<std::int32_t> tokens(Index begin, Index count) const;

 private:
  const TokenDataset* dataset_;
  RunningSums own_;  // tokens of each sequence, without a separator shared with the previous
};

}  // namespace headlight
