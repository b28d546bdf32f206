#include "data/token_stream.h"

#include <algorithm>
#include <iterator>

namespace headlight {

TokenStream::TokenStream(const TokenDataset& dataset) : dataset_(&dataset) {
  starts_.reserve(dataset.sequences.size() + 1);
  starts_.push_back(0);
  for (std::size_t s = 0; s < dataset.sequences.size(); ++s) {
    const auto own =
        static_cast<Index>(dataset.sequences[s].size()) - (shares_separator(s) ? 1 : 0);
    starts_.push_back(starts_.back() + own);
  }
}

bool TokenStream::shares_separator(std::size_t sequence) const {
  if (sequence == 0 || dataset_->end_of_text < 0) {
    return false;
  }
  const auto& before = dataset_->sequences[sequence - 1];
  const auto& here = dataset_->sequences[sequence];
  return !before.empty() && !here.empty() && before.back() == dataset_->end_of_text &&
         here.front() == dataset_->end_of_text;
}

std::vector<std::int32_t> TokenStream::tokens(Index begin, Index count) const {
  std::vector<std::int32_t> result;
  result.reserve(static_cast<std::size_t>(count));
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), begin);
  auto s = static_cast<std::size_t>(std::distance(starts_.begin(), after)) - 1;
  for (; count > 0; ++s) {
    const Index taken = std::min(count, starts_[s + 1] - begin);
    const Index skipped = begin - starts_[s] + (shares_separator(s) ? 1 : 0);
    const auto first = dataset_->sequences[s].begin() + skipped;
    result.insert(result.end(), first, first + taken);
    begin += taken;
    count -= taken;
  }
  return result;
}

}  // namespace headlight
