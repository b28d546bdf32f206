#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headlight {

// Returns two hexadecimal digits per byte: "00ff".
inline std::string hex_text(std::span<const unsigned char> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xF];
  }
  return text;
}

// Returns the byte of two hexadecimal digits, also in capitals; nothing for other texts.
inline std::optional<char> hex_byte(std::string_view digits) {
  unsigned value = 0;
  const char* const end = digits.data() + digits.size();
  const bool is_read = std::from_chars(digits.data(), end, value, 16).ptr == end;
  return is_read && digits.size() == 2 ? std::optional(static_cast<char>(value)) : std::nullopt;
}

// Returns a text with "%41" replaced by "A".
inline std::string percent_decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' ? hex_byte(text.substr(i + 1, 2)) : std::nullopt;
    bytes += byte.value_or(text[i]);
    i += byte ? 2 : 0;
  }
  return bytes;
}

}  // namespace headlight
