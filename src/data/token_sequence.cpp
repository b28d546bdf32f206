#include "headlight/data/token_sequence.h"

#include <algorithm>
#include <utility>

#include "headlight/base/error.h"
#include "headlight/base/memory.h"

namespace headlight {
namespace {

constexpr Index kIdsAtOnce = Index{1} << 16;

class JoinedTokens final : public TokenSource {
 public:
  explicit JoinedTokens(std::vector<TokenSequence> parts) : parts_(std::move(parts)) {
    for (const TokenSequence& part : parts_) {
      starts_.push_back(starts_.back() + part.size());
    }
  }

  std::string name() const override { return "the data"; }
  Index size() const override { return starts_.back(); }

  void read(Index begin, std::span<std::int32_t> ids) const override {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), begin);
    for (auto p = static_cast<std::size_t>(after - starts_.begin()) - 1; !ids.empty(); ++p) {
      const Index count = std::min(std::ssize(ids), starts_[p + 1] - begin);
      parts_[p].read(begin - starts_[p], ids.first(static_cast<std::size_t>(count)));
      ids = ids.subspan(static_cast<std::size_t>(count));
      begin += count;
    }
  }

  Index bytes_in_memory() const override {
    Index bytes = 0;
    for (const TokenSequence& part : parts_) {
      bytes += part.bytes_in_memory();
    }
    return bytes;
  }

 private:
  std::vector<TokenSequence> parts_;
  std::vector<Index> starts_{0};  // [parts + 1] position of each part's first id
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

std::int32_t TokenSequence::id_at(Index place) const {
  std::int32_t id = 0;
  read(place, {&id, 1});
  return id;
}

TokenSequence join_sequences(std::vector<TokenSequence> parts) {
  const bool in_memory = std::all_of(parts.begin(), parts.end(),
                                     [](const TokenSequence& part) { return part.in_memory(); });
  return in_memory ? TokenSequence(joined_in_memory(std::move(parts)))
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

}  // namespace headlight
