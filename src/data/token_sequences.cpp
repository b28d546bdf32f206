#include "headlight/data/token_sequences.h"

#include <algorithm>

namespace headlight {
namespace {

constexpr std::size_t kLengthsAtOnce = std::size_t{1} << 14;

class JoinedSequences final : public SequenceSource {
 public:
  explicit JoinedSequences(std::vector<TokenSequences> parts) : parts_(std::move(parts)) {
    for (const TokenSequences& part : parts_) {
      starts_.push_back(starts_.back() + static_cast<Index>(part.size()));
    }
  }

  Index size() const override { return starts_.back(); }

  TokenSequence at(Index number) const override {
    const std::size_t part = part_of(number);
    return parts_[part][static_cast<std::size_t>(number - starts_[part])];
  }

  void lengths(Index first, std::span<Index> lengths) const override {
    for (std::size_t part = part_of(first); !lengths.empty(); ++part) {
      const auto count = static_cast<std::size_t>(
          std::min(std::ssize(lengths), static_cast<std::ptrdiff_t>(starts_[part + 1] - first)));
      parts_[part].lengths(first - starts_[part], lengths.first(count));
      lengths = lengths.subspan(count);
      first = starts_[part + 1];
    }
  }

  Index bytes_in_memory() const override {
    Index bytes = 0;
    for (const TokenSequences& part : parts_) {
      bytes += part.bytes_in_memory();
    }
    return bytes;
  }

 private:
  std::size_t part_of(Index number) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), number);
    return static_cast<std::size_t>(after - starts_.begin()) - 1;
  }

  std::vector<TokenSequences> parts_;
  std::vector<Index> starts_{0};  // [parts + 1] number of each part's first sequence
};

}  // namespace

std::size_t TokenSequences::size() const {
  return source_ == nullptr ? held_.size() : static_cast<std::size_t>(count_);
}

TokenSequence TokenSequences::operator[](std::size_t number) const {
  return source_ == nullptr ? held_[number] : source_->at(first_ + static_cast<Index>(number));
}

void TokenSequences::lengths(Index first, std::span<Index> lengths) const {
  if (source_ != nullptr) {
    source_->lengths(first_ + first, lengths);
    return;
  }
  for (Index& length : lengths) {
    length = held_[static_cast<std::size_t>(first++)].size();
  }
}

void TokenSequences::for_each_lengths(
    const std::function<void(std::span<const Index> lengths)>& use) const {
  std::vector<Index> buffer(std::min(kLengthsAtOnce, size()));
  for (std::size_t first = 0; first < size(); first += buffer.size()) {
    const auto part = std::span(buffer).first(std::min(buffer.size(), size() - first));
    lengths(static_cast<Index>(first), part);
    use(part);
  }
}

TokenSequences TokenSequences::take_tail(Index kept) {
  TokenSequences tail;
  if (source_ == nullptr) {
    const auto middle = held_.begin() + kept;
    tail.held_.assign(std::make_move_iterator(middle), std::make_move_iterator(held_.end()));
    held_.erase(middle, held_.end());
    return tail;
  }
  tail = *this;
  tail.first_ += kept;
  tail.count_ -= kept;
  count_ = kept;
  return tail;
}

std::vector<TokenSequence> TokenSequences::take() {
  TokenSequences taken = std::exchange(*this, {});
  return taken.in_memory() ? std::move(taken.held_)
                           : std::vector<TokenSequence>(taken.begin(), taken.end());
}

Index TokenSequences::bytes_in_memory() const {
  Index bytes = source_ == nullptr ? 0 : source_->bytes_in_memory();
  for (const TokenSequence& sequence : held_) {
    bytes += sequence.bytes_in_memory();
  }
  return bytes;
}

TokenSequences join_lists(std::vector<TokenSequences> parts) {
  const bool in_memory = std::all_of(parts.begin(), parts.end(),
                                     [](const TokenSequences& part) { return part.in_memory(); });
  if (!in_memory) {
    return TokenSequences(std::make_shared<JoinedSequences>(std::move(parts)));
  }
  std::vector<TokenSequence> all;
  for (TokenSequences& part : parts) {
    std::vector<TokenSequence> more = part.take();
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  }
  return all;
}

bool operator==(const TokenSequences& left, const TokenSequences& right) {
  return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin());
}

}  // namespace headlight
