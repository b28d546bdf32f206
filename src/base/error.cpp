#include "headlight/base/error.h"

namespace headlight {
namespace {

// Of a longer message the beginning, which names the place, and the end, which says why, are kept.
constexpr std::size_t kLongestMessage = 1000;  // bytes
constexpr std::size_t kKeptEnd = 400;

bool is_utf8_continuation(char character) { return (character & 0xC0) == 0x80; }

std::string shortened(const std::string& text) {
  if (text.size() <= kLongestMessage) {
    return text;
  }
  std::size_t begin = kLongestMessage - kKeptEnd;
  while (begin > 0 && is_utf8_continuation(text[begin])) {
    --begin;
  }
  std::size_t end = text.size() - kKeptEnd;
  while (end < text.size() && is_utf8_continuation(text[end])) {
    ++end;
  }
  return text.substr(0, begin) + "..." + text.substr(end);
}

}  // namespace

std::string escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte == 0x7F) {
      result += "\\x";
      result += kDigits[byte >> 4];
      result += kDigits[byte & 0xF];
    } else {
      result += character;
    }
  }
  return result;
}

void throw_error(std::string_view message) { throw Error(shortened(escaped(message))); }

}  // namespace headlight
