#include "tokenizers/added_tokens.h"

#include <algorithm>
#include <utility>

#include "headlight/base/utf8.h"
#include "tokenizers/unicode/unicode_class.h"

namespace headlight {
namespace {

std::uint8_t first_byte(std::string_view text) { return static_cast<std::uint8_t>(text[0]); }

std::size_t common_length(std::string_view a, std::string_view b) {
  const std::size_t most = std::min(a.size(), b.size());
  const std::string_view start = a.substr(0, most);
  const auto difference = std::mismatch(start.begin(), start.end(), b.begin()).first;
  return static_cast<std::size_t>(difference - start.begin());
}

// Returns the last character of a text that is not empty; invalid if its bytes are no character.
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

// True if no word character touches text[begin, end).
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const bool left = begin > 0 && is_word(last_character(text.substr(0, begin)));
  const bool right = end < text.size() && is_word(first_character(text.substr(end)));
  return !left && !right;
}

// Returns the start of the white space before `begin`, at least `least`.
std::size_t without_space_before(std::string_view text, std::size_t begin, std::size_t least) {
  while (begin > least) {
    const Utf8Character character = last_character(text.substr(0, begin));
    if (!is_space(character)) {
      break;
    }
    begin -= static_cast<std::size_t>(character.length);
  }
  return std::max(begin, least);
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

// True if the name of a special token in these bytes of the text is the token.
bool reads_special_in(const EncodeOptions& options, std::size_t begin, std::size_t end) {
  const auto next = std::ranges::upper_bound(options.plain, begin, {}, &ByteRange::end);
  const bool is_plain = next != options.plain.end() && next->begin < end;
  return options.read_special && !is_plain;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) {
  std::erase_if(tokens, [](const AddedToken& token) { return token.content.empty(); });
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const auto& a, const auto& b) { return a.content < b.content; });
  for (AddedToken& token : tokens) {
    if (!tokens_.empty() && tokens_.back().content == token.content) {
      tokens_.pop_back();
    }
    tokens_.push_back(std::move(token));
  }
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    FirstByte& range = first_bytes_[first_byte(tokens_[i].content)];
    range = {range.begin == range.end ? i : range.begin, i + 1};
    longest_ = std::max(longest_, tokens_[i].content.size());
  }
  set_prefixes();
}

// In sorted order a token's prefix comes before it; only tokens with that prefix are between them.
void AddedTokenMatcher::set_prefixes() {
  std::int32_t last = -1;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    while (last >= 0 &&
           !tokens_[i].content.starts_with(tokens_[static_cast<std::size_t>(last)].content)) {
      last = prefixes_[static_cast<std::size_t>(last)];
    }
    prefixes_.push_back(last);
    last = static_cast<std::int32_t>(i);
  }
}

// Every token that begins the text at `begin` is a prefix of the last token not sorted after it.
AddedTokenMatcher::Match AddedTokenMatcher::match_at(std::string_view text,
                                                     std::size_t begin) const {
  const std::string_view rest = text.substr(begin, longest_);
  const auto [first, end] = first_bytes_[first_byte(text.substr(begin))];
  const auto next = std::upper_bound(
      tokens_.begin() + static_cast<std::ptrdiff_t>(first),
      tokens_.begin() + static_cast<std::ptrdiff_t>(end), rest,
      [](std::string_view wanted, const AddedToken& token) { return wanted < token.content; });
  auto index = static_cast<std::int32_t>(next - tokens_.begin()) - 1;
  if (index < static_cast<std::int32_t>(first)) {
    return {};
  }
  const std::size_t common = common_length(rest, tokens_[static_cast<std::size_t>(index)].content);
  while (index >= 0 && tokens_[static_cast<std::size_t>(index)].content.size() > common) {
    index = prefixes_[static_cast<std::size_t>(index)];
  }
  if (index < 0) {
    return {};
  }
  const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
  return {token.content.size(), &token};
}

std::vector<TextSegment> AddedTokenMatcher::split(const AlignedText& aligned,
                                                  const EncodeOptions& options) const {
  const std::string_view text = aligned.text;
  std::vector<TextSegment> segments;
  std::size_t done = 0;
  std::size_t spaces_end = 0;  // end of the white space after the last rstrip token
  for (std::size_t i = 0; i < text.size();) {
    const FirstByte& candidates = first_bytes_[static_cast<std::uint8_t>(text[i])];
    if (candidates.begin == candidates.end) {  // most bytes begin no token
      ++i;
      continue;
    }
    const Match match = match_at(text, i);
    if (match.token == nullptr) {
      ++i;
      continue;
    }
    const AddedToken& token = *match.token;
    std::size_t begin = i;
    std::size_t end = i + match.length;
    i = end;
    if ((token.special && !reads_special_in(options, aligned.offset(begin), aligned.offset(end))) ||
        (token.single_word && !stands_alone(text, begin, end))) {
      continue;
    }
    if (token.lstrip) {
      begin = without_space_before(text, begin, done);
    }
    if (token.rstrip) {
      spaces_end = end < spaces_end ? spaces_end : with_space_behind(text, end);
      end = spaces_end;
    }
    if (done < begin) {
      segments.push_back({text.substr(done, begin - done)});
    }
    segments.push_back(
        {text.substr(begin, end - begin), token.id, text.substr(i - match.length, match.length)});
    done = end;
  }
  if (done < text.size()) {
    segments.push_back({text.substr(done)});
  }
  return segments;
}

}  // namespace headlight
