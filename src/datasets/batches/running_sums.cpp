#include "datasets/batches/running_sums.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headlight {

RunningSums::RunningSums(Index count, Lengths lengths)
    : count_(count), lengths_(std::move(lengths)) {
  while (divided_up(count, stride_) > kMost) {
    stride_ *= 2;
  }
  constexpr Index kAtOnce = Index{1} << 14;
  std::vector<Index> buffer(static_cast<std::size_t>(std::min(std::max(kAtOnce, stride_), count)));
  sums_.reserve(static_cast<std::size_t>(divided_up(count, stride_)) + 1);
  for (Index first = 0; first < count; first += std::ssize(buffer)) {
    const auto part = std::span(buffer).first(
        static_cast<std::size_t>(std::min<Index>(std::ssize(buffer), count - first)));
    lengths_(first, part);
    for (Index i = 0; i < std::ssize(part); i += stride_) {
      const auto begin = part.begin() + i;
      const auto end = part.begin() + std::min<Index>(i + stride_, std::ssize(part));
      sums_.push_back(std::accumulate(begin, end, sums_.back()));
    }
  }
}

Index RunningSums::before(Index item) const {
  const Index group = item == count_ ? std::ssize(sums_) - 1 : item / stride_;
  const Index skipped = item == count_ ? 0 : item % stride_;
  std::vector<Index> lengths(static_cast<std::size_t>(skipped));
  lengths_(item - skipped, lengths);
  return std::accumulate(lengths.begin(), lengths.end(), sums_[static_cast<std::size_t>(group)]);
}

RunningSums::Item RunningSums::find(Index position) const {
  const auto after = std::upper_bound(sums_.begin(), sums_.end(), position);
  const Index group = (after - sums_.begin()) - 1;
  Item item{.number = group * stride_, .before = sums_[static_cast<std::size_t>(group)]};
  if (stride_ == 1) {
    return item;
  }
  std::vector<Index> lengths(static_cast<std::size_t>(std::min(stride_, count_ - item.number)));
  lengths_(item.number, lengths);
  for (const Index length : lengths) {
    if (position < item.before + length) {
      break;
    }
    item.before += length;
    ++item.number;
  }
  return item;
}

}  // namespace headlight
