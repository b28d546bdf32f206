#include "text/printable.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxQuotedBytes = 80;

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

bool is_utf8_continuation(char character) { return (character & 0xC0) == 0x80; }

}  // namespace

std::string in_quotes(std::string_view text) {
  if (text.size() <= kMaxQuotedBytes) {
    return "'" + escaped(text) + "'";
  }
  std::size_t length = kMaxQuotedBytes;
  while (length > 0 && is_utf8_continuation(text[length])) {
    --length;
  }
  return "'" + escaped(text.substr(0, length)) + "...'";
}

std::string shown(const std::filesystem::path& path) { return escaped(path.native()); }

}  // namespace headlight
