#include "generate/prefix_cache.h"

#include <algorithm>

namespace headlight {
namespace {

Index common_length(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

KeyValueCache PrefixCache::find(std::span<const std::int32_t> prompt, Index least) {
  auto best = entries_.end();
  Index longest = least;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    // At least one token must be read, because its logits are not stored.
    const Index common = std::min(common_length(entry->tokens, prompt), std::ssize(prompt) - 1);
    if (const Index length = common / chunk_ * chunk_; length > longest) {
      longest = length;
      best = entry;
    }
  }
  if (best == entries_.end()) {
    return {};
  }
  entries_.splice(entries_.begin(), entries_, best);
  return best->cache.fork(longest);
}

void PrefixCache::keep(std::span<const std::int32_t> prompt, const KeyValueCache& cache) {
  const Index length = std::min(std::ssize(prompt), cache.length()) / chunk_ * chunk_;
  if (length == 0) {
    return;
  }
  const std::span<const std::int32_t> tokens = prompt.first(static_cast<std::size_t>(length));
  const bool known = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return common_length(entry.tokens, tokens) == length;
  });
  if (known) {
    return;
  }
  // Remove entries that the new one contains.
  std::erase_if(entries_, [&](const Entry& entry) {
    const bool covered = common_length(entry.tokens, tokens) == std::ssize(entry.tokens);
    tokens_ -= covered ? std::ssize(entry.tokens) : 0;
    return covered;
  });
  entries_.push_front({{tokens.begin(), tokens.end()}, cache.fork(length)});
  tokens_ += length;
}

bool PrefixCache::drop_oldest() {
  if (entries_.empty()) {
    return false;
  }
  tokens_ -= std::ssize(entries_.back().tokens);
  entries_.pop_back();
  return true;
}

}  // namespace headlight
