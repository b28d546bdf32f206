#include "base/strings/base64.h"

#include <algorithm>
#include <cstdint>

namespace headlight {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_of(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kBase64Digits[group >> (18 - 6 * k) & 0x3F] : '=';
    }
  }
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool padded = i >= text.size() - padding;
    const std::size_t digit = padded ? 0 : kBase64Digits.find(text[i]);
    if (digit == kBase64Digits.npos) {
      return std::nullopt;
    }
    group = group << 6 | static_cast<std::uint32_t>(digit);
    for (std::uint32_t shift = 24; i % 4 == 3 && shift > 0;) {
      shift -= 8;
      bytes += static_cast<char>(group >> shift & 0xFF);
    }
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace headlight
