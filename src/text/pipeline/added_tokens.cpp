#include "text/pipeline/added_tokens.h"

#include <algorithm>
#include <utility>

#include "headlight/base/utf8.h"
#include "text/unicode_class.h"

namespace headlight {
namespace {

std::uint64_t child_key(std::uint32_t node, char byte) {
  return std::uint64_t{node} << 8 | static_cast<std::uint8_t>(byte);
}

// The last character of a text that is not empty; none where its bytes are no character.
Utf8Character last_character(std::string_view text) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(4, text.size()); ++length) {
    const Utf8Character character = first_character(text.substr(text.size() - length));
    if (character.valid && static_cast<std::size_t>(character.length) == length) {
      return character;
    }
  }
  return {.length = 1};
}

bool is_word(const Utf8Character& character) {
  return character.valid && is_word_character(character.code_point);
}

bool is_space(const Utf8Character& character) {
  return character.valid && unicode_class(character.code_point) == UnicodeClass::kSpace;
}

// Whether no word goes on at either end of text[begin, end).
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const bool left = begin > 0 && is_word(last_character(text.substr(0, begin)));
  const bool right = end < text.size() && is_word(first_character(text.substr(end)));
  return !left && !right;
}

std::size_t without_space_before(std::string_view text, std::size_t begin) {
  while (begin > 0) {
    const Utf8Character character = last_character(text.substr(0, begin));
    if (!is_space(character)) {
      break;
    }
    begin -= static_cast<std::size_t>(character.length);
  }
  return begin;
}

std::size_t with_space_behind(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const Utf8Character character = first_character(text.substr(end));
    if (!is_space(character)) {
      break;
    }
    end += static_cast<std::size_t>(character.length);
  }
  return end;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    insert(i);
  }
}

void AddedTokenMatcher::insert(std::size_t token) {
  const std::string& content = tokens_[token].content;
  begins_[static_cast<std::uint8_t>(content[0])] = true;
  std::uint32_t node = 0;
  for (const char byte : content) {
    const auto next = static_cast<std::uint32_t>(ends_.size());
    const auto [place, is_new] = children_.emplace(child_key(node, byte), next);
    if (is_new) {
      ends_.push_back(-1);
    }
    node = place->second;
  }
  ends_[node] = static_cast<std::int32_t>(token);
}

AddedTokenMatcher::Match AddedTokenMatcher::match_at(std::string_view text,
                                                     std::size_t begin) const {
  Match longest;
  std::uint32_t node = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const auto child = children_.find(child_key(node, text[i]));
    if (child == children_.end()) {
      break;
    }
    node = child->second;
    if (ends_[node] >= 0) {
      longest = {i + 1 - begin, &tokens_[static_cast<std::size_t>(ends_[node])]};
    }
  }
  return longest;
}

std::vector<TextSegment> AddedTokenMatcher::split(std::string_view text, bool read_special) const {
  std::vector<TextSegment> segments;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins = begins_[static_cast<std::uint8_t>(text[i])];
    const Match match = begins ? match_at(text, i) : Match{};
    if (match.token == nullptr) {
      ++i;
      continue;
    }
    const AddedToken& token = *match.token;
    std::size_t begin = i;
    std::size_t end = i + match.length;
    i = end;
    if ((token.special && !read_special) ||
        (token.single_word && !stands_alone(text, begin, end))) {
      continue;
    }
    if (token.lstrip) {
      begin = std::max(without_space_before(text, begin), done);
    }
    if (token.rstrip) {
      end = with_space_behind(text, end);
    }
    if (done < begin) {
      segments.push_back({text.substr(done, begin - done)});
    }
    segments.push_back({{}, token.id});
    done = end;
  }
  if (done < text.size()) {
    segments.push_back({text.substr(done)});
  }
  return segments;
}

}  // namespace headlight
