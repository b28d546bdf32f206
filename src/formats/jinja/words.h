#pragma once

#include <cstdint>
#include <string_view>

#include "headlight/base/utf8.h"

namespace headlight::jinja {

// White space of Python's str.isspace().
inline bool is_space(char32_t code) {
  return (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20) || code == 0x85 ||
         code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

enum class Side : std::uint8_t { left, right, both };

// Returns the number of bytes of the last character of valid UTF-8.
inline std::size_t last_length(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && is_utf8_continuation(text[text.size() - length])) {
    ++length;
  }
  return length;
}

// Removes characters at the sides of a text while `removes` holds for their code point.
template <class Removes>
std::string_view stripped_of(std::string_view text, Side side, const Removes& removes) {
  while (side != Side::right && !text.empty()) {
    const Utf8Character first = first_character(text);
    if (!removes(first.code_point)) {
      break;
    }
    text.remove_prefix(static_cast<std::size_t>(first.length));
  }
  while (side != Side::left && !text.empty()) {
    const std::size_t length = last_length(text);
    if (!removes(first_character(text.substr(text.size() - length)).code_point)) {
      break;
    }
    text.remove_suffix(length);
  }
  return text;
}

inline std::string_view stripped(std::string_view text, Side side) {
  return stripped_of(text, side, is_space);
}

}  // namespace headlight::jinja
