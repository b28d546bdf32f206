#include "data/token_stream.h"

#include <algorithm>
#include <iterator>

namespace headlight {

TokenStream::TokenStream(const TokenDataset& dataset) : dataset_(&dataset) {
  starts_.reserve(dataset.sequences.size() + 1);
  starts_.push_back(0);
  for (std::size_t s = 0; s < dataset.sequences.size(); ++s) {
    const Index own = dataset.sequences[s].size() - (shares_separator(s) ? 1 : 0);
    starts_.push_back(starts_.back() + own);
  }
}

bool TokenStream::shares_separator(std::size_t sequence) const {
  if (sequence == 0 || dataset_->end_of_text < 0) {
    return false;
  }
  const TokenSequence& before = dataset_->sequences[sequence - 1];
  const TokenSequence& here = dataset_->sequences[sequence];
  return !before.empty() && !here.empty() && before.back() == dataset_->end_of_text &&
         here.front() == dataset_->end_of_text;
}

std::vector<std::int32_t> TokenStream::tokens(Index begin, Index count) const {
  std::vector<std::int32_t> result(static_cast<std::size_t>(count));
  std::span<std::int32_t> rest = result;
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), begin);
  auto s = static_cast<std::size_t>(std::distance(starts_.begin(), after)) - 1;
  for (; !rest.empty(); ++s) {
    const TokenSequence& sequence = dataset_->sequences[s];
    const Index own = starts_[s + 1] - starts_[s];
    const Index shared = sequence.size() - own;  // 1: its first token is the last of the one before
    const Index skipped = begin - starts_[s];
    const auto taken = static_cast<std::size_t>(std::min(std::ssize(rest), own - skipped));
    sequence.read(shared + skipped, rest.first(taken));
    rest = rest.subspan(taken);
    begin += static_cast<Index>(taken);
  }
  return result;
}

}  // namespace headlight
