#include "headlight/datasets/token_sequences.h"

#include <algorithm>
#include <utility>

#include "datasets/batches/permutation.h"
#include "headlight/base/error.h"
#include "headlight/kernels/machine/memory.h"

namespace headlight {
namespace {

constexpr Index kIdsAtOnce = Index{1} << 16;
constexpr std::size_t kLengthsAtOnce = std::size_t{1} << 14;

// Parts laid end to end.
template <class Part>
struct Joined {
  explicit Joined(std::vector<Part> all) : parts(std::move(all)) {
    for (const Part& part : parts) {
      starts.push_back(starts.back() + static_cast<Index>(part.size()));
    }
  }

  Index size() const { return starts.back(); }
  std::size_t part_of(Index position) const {
    const auto after = std::upper_bound(starts.begin(), starts.end(), position);
    return static_cast<std::size_t>(after - starts.begin()) - 1;
  }
  // Calls read(part, position in the part, piece of `items`) for all items from `begin` on.
  template <class Item, class Read>
  void read_from(Index begin, std::span<Item> items, const Read& read) const {
    for (std::size_t p = part_of(begin); !items.empty(); ++p) {
      const auto count =
          static_cast<std::size_t>(std::min(std::ssize(items), starts[p + 1] - begin));
      read(parts[p], begin - starts[p], items.first(count));
      items = items.subspan(count);
      begin = starts[p + 1];
    }
  }
  Index bytes_in_memory() const {
    Index bytes = 0;
    for (const Part& part : parts) {
      bytes += part.bytes_in_memory();
    }
    return bytes;
  }

  std::vector<Part> parts;
  std::vector<Index> starts{0};  // [parts + 1] position of each part's first item
};

template <class Part>
bool are_in_memory(const std::vector<Part>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.in_memory(); });
}

class JoinedTokens final : public TokenSource {
 public:
  explicit JoinedTokens(std::vector<TokenSequence> parts) : all_(std::move(parts)) {}

  std::string name() const override { return "the data"; }
  Index size() const override { return all_.size(); }
  Index bytes_in_memory() const override { return all_.bytes_in_memory(); }

  void read(Index begin, std::span<std::int32_t> ids) const override {
    all_.read_from(begin, ids, [](const TokenSequence& part, Index position, auto piece) {
      part.read(position, piece);
    });
  }

 private:
  Joined<TokenSequence> all_;
};

class JoinedSequences final : public SequenceSource {
 public:
  explicit JoinedSequences(std::vector<TokenSequences> parts) : all_(std::move(parts)) {}

  Index size() const override { return all_.size(); }
  Index bytes_in_memory() const override { return all_.bytes_in_memory(); }

  TokenSequence at(Index number) const override {
    const std::size_t part = all_.part_of(number);
    return all_.parts[part][static_cast<std::size_t>(number - all_.starts[part])];
  }

  void lengths(Index first, std::span<Index> lengths) const override {
    all_.read_from(first, lengths, [](const TokenSequences& part, Index position, auto piece) {
      part.lengths(position, piece);
    });
  }

 private:
  Joined<TokenSequences> all_;
};

constexpr std::uint64_t kSplitStream = 0x73706c74;  // "splt"

class ShuffledSequences final : public SequenceSource {
 public:
  ShuffledSequences(TokenSequences sequences, const Permutation& order)
      : sequences_(std::move(sequences)), order_(order) {}

  Index size() const override { return static_cast<Index>(sequences_.size()); }
  Index bytes_in_memory() const override { return sequences_.bytes_in_memory(); }

  TokenSequence at(Index number) const override {
    return sequences_[static_cast<std::size_t>(order_(number))];
  }

  void lengths(Index first, std::span<Index> lengths) const override {
    for (Index& length : lengths) {
      sequences_.lengths(order_(first++), {&length, 1});
    }
  }

 private:
  TokenSequences sequences_;
  Permutation order_;
};

// Frees each part after copying it, so that memory does not hold a long stream twice.
std::vector<std::int32_t> joined_in_memory(std::vector<TokenSequence> parts) {
  Index count = 0;
  for (const TokenSequence& part : parts) {
    count += part.size();
  }
  const std::string missing = missing_memory(static_cast<double>(count) * sizeof(std::int32_t));
  require_value(missing.empty(), "data", count, " tokens in ", parts.size(),
                " files do not fit in memory: they take ", missing);
  std::vector<std::int32_t> ids;
  ids.reserve(static_cast<std::size_t>(count));
  for (TokenSequence& part : parts) {
    const std::vector<std::int32_t> more = part.take();
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

}  // namespace

TokenSequence::TokenSequence(std::vector<std::int32_t> ids)
    : ids_(std::make_shared<std::vector<std::int32_t>>(std::move(ids))), size_(std::ssize(*ids_)) {}

TokenSequence::TokenSequence(std::initializer_list<std::int32_t> ids)
    : TokenSequence(std::vector<std::int32_t>(ids)) {}

TokenSequence::TokenSequence(std::shared_ptr<const TokenSource> source)
    : source_(std::move(source)), size_(source_->size()) {}

void TokenSequence::read(Index begin, std::span<std::int32_t> ids) const {
  if (source_ != nullptr) {
    source_->read(begin_ + begin, ids);
  } else if (!ids.empty()) {
    std::copy_n(ids_->begin() + begin_ + begin, ids.size(), ids.begin());
  }
}

std::vector<std::int32_t> TokenSequence::tokens(Index begin, Index count) const {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  read(begin, ids);
  return ids;
}

void TokenSequence::for_each_part(
    const std::function<void(std::span<const std::int32_t> part)>& use) const {
  if (source_ == nullptr) {
    use(ids_ == nullptr ? std::span<const std::int32_t>()
                        : std::span(*ids_).subspan(static_cast<std::size_t>(begin_),
                                                   static_cast<std::size_t>(size_)));
    return;
  }
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(kIdsAtOnce, size_)));
  for (Index begin = 0; begin < size_; begin += kIdsAtOnce) {
    const auto part =
        std::span(ids).first(static_cast<std::size_t>(std::min(kIdsAtOnce, size_ - begin)));
    read(begin, part);
    use(part);
  }
}

TokenSequence TokenSequence::take_tail(Index kept) {
  TokenSequence tail = *this;
  tail.begin_ += kept;
  tail.size_ -= kept;
  size_ = kept;
  return tail;
}

std::vector<std::int32_t> TokenSequence::take() {
  TokenSequence taken = std::exchange(*this, {});
  const bool is_whole = taken.ids_.use_count() == 1 && taken.size_ == std::ssize(*taken.ids_);
  if (is_whole) {
    return std::move(*taken.ids_);
  }
  if (!taken.in_memory()) {
    const std::string missing =
        missing_memory(static_cast<double>(taken.size_) * sizeof(std::int32_t));
    require(missing.empty(), taken.source_->name(), ": does not fit in memory: its ", taken.size_,
            " tokens take ", missing);
  }
  return taken.tokens(0, taken.size_);
}

Index TokenSequence::bytes_in_memory() const {
  return source_ == nullptr ? size_ * static_cast<Index>(sizeof(std::int32_t))
                            : source_->bytes_in_memory();
}

std::int32_t TokenSequence::id_at(Index position) const {
  std::int32_t id = 0;
  read(position, {&id, 1});
  return id;
}

TokenSequence join_sequences(std::vector<TokenSequence> parts) {
  if (parts.size() == 1) {
    return std::move(parts.front());
  }
  return are_in_memory(parts) ? TokenSequence(joined_in_memory(std::move(parts)))
                              : TokenSequence(std::make_shared<JoinedTokens>(std::move(parts)));
}

bool operator==(const TokenSequence& left, const TokenSequence& right) {
  if (left.size() != right.size()) {
    return false;
  }
  bool equal = true;
  Index begin = 0;
  left.for_each_part([&](std::span<const std::int32_t> part) {
    const std::vector<std::int32_t> other = right.tokens(begin, static_cast<Index>(part.size()));
    equal = equal && std::equal(part.begin(), part.end(), other.begin());
    begin += static_cast<Index>(part.size());
  });
  return equal;
}

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
  if (!are_in_memory(parts)) {
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

TokenSequences shuffled(TokenSequences sequences, std::uint64_t seed) {
  if (sequences.empty()) {
    return sequences;
  }
  const Permutation order(static_cast<Index>(sequences.size()), RandomStream{seed, kSplitStream});
  if (!sequences.in_memory()) {
    return TokenSequences(std::make_shared<ShuffledSequences>(std::move(sequences), order));
  }
  std::vector<TokenSequence> held = sequences.take();
  std::vector<TokenSequence> result;
  for (Index index = 0; index < std::ssize(held); ++index) {
    result.push_back(std::move(held[static_cast<std::size_t>(order(index))]));
  }
  return result;
}

bool operator==(const TokenSequences& left, const TokenSequences& right) {
  return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin());
}

}  // namespace headlight
