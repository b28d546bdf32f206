#include "headlight/base/error.h"

#include <array>
#include <charconv>

#include "base/strings/hex_text.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Longer messages keep their beginning, which names the location, and their end, which has the
// reason.
constexpr std::size_t kLongestMessage = 1000;  // bytes
constexpr std::size_t kKeptEnd = 400;

// Returns whether a character is a control character (C0, DEL, C1), separates lines or paragraphs,
// or changes the direction of the following text.
bool is_terminal_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

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

void Error::add_location(std::string_view location) {
  has_location_ = true;
  static_cast<std::runtime_error&>(*this) =
      std::runtime_error(shortened(escaped(location) + what()));
}

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::string_view bytes = text.substr(0, static_cast<std::size_t>(character.length));
    for (const char raw : bytes) {
      const auto byte = static_cast<unsigned char>(raw);
      if (character.valid ? is_terminal_control(character.code_point) : byte < 0xA0) {
        result += "\\x" + hex_text({&byte, 1});
      } else {
        result += raw;
      }
    }
    text.remove_prefix(bytes.size());
  }
  return result;
}

void append_text(std::string& out, double number) {
  constexpr int kDigits = 6;
  std::array<char, 32> digits{};
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                            std::chars_format::general, kDigits)
                  .ptr;
  out.append(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

std::string joined_text(const MessagePart* parts, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    parts[i].append_to(text);
  }
  return text;
}

void throw_error(const MessagePart* parts, std::size_t count) {
  throw_error(joined_text(parts, count));
}

void throw_error(std::string_view message) { throw Error(shortened(escaped(message))); }

void throw_value_error(std::string_view name, const MessagePart* parts, std::size_t count) {
  throw Error(shortened(escaped(concat_text(name, ": ", joined_text(parts, count)))), name);
}

}  // namespace headlight
