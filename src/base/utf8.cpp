#include "headlight/base/utf8.h"

#include <utf8.h>

#include <algorithm>
#include <iterator>

#include "headlight/base/error.h"

namespace headlight {
namespace {

// The bytes that may follow a first byte. The range of the second byte is narrower than 80..BF
// where it excludes overlong forms, surrogates and values above U+10FFFF (Unicode 15, table 3-7).
struct Lead {
  Index following = -1;  // bytes after the first; -1: invalid first byte
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
};

Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) {
    return {0};
  }
  if (byte < 0xC2 || byte > 0xF4) {
    return {};
  }
  if (byte < 0xE0) {
    return {1};
  }
  if (byte < 0xF0) {
    return {2, static_cast<std::uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<std::uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  }
  return {3, static_cast<std::uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
          static_cast<std::uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
}

std::uint8_t byte_at(std::string_view text, Index position) {
  return static_cast<std::uint8_t>(text[static_cast<std::size_t>(position)]);
}

constexpr Index kLongestCharacter = 4;  // bytes

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  return static_cast<std::size_t>(utf8::find_invalid(text.begin(), text.end()) - text.begin());
}

void require_utf8(std::string_view text, std::string_view name) {
  const std::size_t valid = valid_utf8_prefix(text);
  require(valid == text.size(), name, ": invalid UTF-8 at byte ", valid);
}

void require_utf8_value(std::string_view text, std::string_view name) {
  const std::size_t valid = valid_utf8_prefix(text);
  require_value(valid == text.size(), name, "invalid UTF-8 at byte ", valid);
}

Utf8Character first_character(std::string_view text) {
  const std::uint8_t first = byte_at(text, 0);
  const Lead lead = lead_of(first);
  if (lead.following <= 0) {
    const bool valid = lead.following == 0;
    return {valid ? char32_t{first} : U'\uFFFD', 1, valid, false};
  }
  // The first byte holds the bits below its length marker: 5, 4 or 3 bits.
  auto code_point = static_cast<char32_t>(first & (0x3F >> lead.following));
  for (Index i = 1; i <= lead.following; ++i) {
    if (i == static_cast<Index>(text.size())) {
      return {U'\uFFFD', i, false, true};
    }
    const std::uint8_t byte = byte_at(text, i);
    const bool fits = i == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xC0) == 0x80;
    if (!fits) {
      return {U'\uFFFD', i, false, false};
    }
    code_point = (code_point << 6) | (byte & 0x3FU);
  }
  return {code_point, lead.following + 1, true, false};
}

Index character_count(std::string_view text) {
  return std::ssize(text) - std::count_if(text.begin(), text.end(), is_utf8_continuation);
}

void append_utf8(char32_t code_point, std::string& text) {
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  require(code_point <= 0x10FFFF && !surrogate, "[append_utf8] ",
          static_cast<std::uint32_t>(code_point), " is not a valid Unicode code point");
  utf8::append(static_cast<std::uint32_t>(code_point), std::back_inserter(text));
}

Index complete_utf8_prefix(std::string_view text) {
  const auto size = static_cast<Index>(text.size());
  for (Index back = 1; back < kLongestCharacter && back <= size; ++back) {
    const auto tail = text.substr(static_cast<std::size_t>(size - back));
    if (!is_utf8_continuation(tail.front())) {
      return first_character(tail).cut ? size - back : size;
    }
  }
  return size;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const auto length = static_cast<std::size_t>(character.length);
    result += character.valid ? text.substr(0, length) : kReplacementCharacter;
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace headlight
