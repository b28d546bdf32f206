#include "generate/grammar/token_trie.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "headlight/base/error.h"

namespace headlight {
namespace {

using TokenText = std::pair<std::string, std::int32_t>;

std::vector<TokenText> token_texts(const Tokenizer& tokenizer, TokenTrie::Position position,
                                   std::span<const std::int32_t> shown) {
  std::vector<TokenText> texts;
  for (Index i = 0; i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (const std::string_view name = tokenizer.special_name(id); !name.empty()) {
      if (std::ranges::find(shown, id) != shown.end()) {
        texts.emplace_back(name, id);
      }
      continue;
    }
    std::string bytes = position == TokenTrie::Position::start_of_text
                            ? tokenizer.first_token_bytes(id)
                            : tokenizer.token_bytes(id);
    if (!bytes.empty()) {
      texts.emplace_back(std::move(bytes), id);
    }
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::size_t common_length(const std::string& a, const std::string& b) {
  const auto end = a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return static_cast<std::size_t>(std::mismatch(a.begin(), end, b.begin()).first - a.begin());
}

}  // namespace

TokenTrie::TokenTrie(const Tokenizer& tokenizer, Position position,
                     std::span<const std::int32_t> shown)
    : vocab_size_(static_cast<std::size_t>(tokenizer.vocab_size())) {
  std::vector<std::uint32_t> path;  // nodes of the text before
  std::string before;
  const auto close = [&](std::size_t depth) {
    while (path.size() > depth) {
      nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
      path.pop_back();
    }
  };
  for (auto& [text, id] : token_texts(tokenizer, position, shown)) {
    close(common_length(before, text));
    for (std::size_t depth = path.size(); depth < text.size(); ++depth) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.tokens = static_cast<std::uint32_t>(ids_.size()),
                        .depth = static_cast<std::uint32_t>(depth),
                        .byte = static_cast<std::uint8_t>(text[depth])});
      require(nodes_.size() < std::numeric_limits<std::uint32_t>::max(),
              "[grammar] the tokens of the tokenizer are too long");
    }
    ids_.push_back(id);
    longest_token_ = std::max(longest_token_, text.size());
    before = std::move(text);
  }
  close(0);
  nodes_.push_back({.tokens = static_cast<std::uint32_t>(ids_.size())});
}

}  // namespace headlight
