#pragma once

#include <span>
#include <string>

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

}  // namespace headlight
