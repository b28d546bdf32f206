#include "headlight/base/error.h"

#include <array>
#include <charconv>

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Of a longer message the beginning, which names the place, and the end, which says why, are kept.
constexpr std::size_t kLongestMessage = 1000;  // bytes
constexpr std::size_t kKeptEnd = 400;

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

void Error::add_place(std::string_view place) {
  has_place_ = true;
  static_cast<std::runtime_error&>(*this) = std::runtime_error(shortened(escaped(place) + what()));
}

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

void MessagePart::append_to(std::string& out) const {
  switch (kind_) {
    case Kind::text:
      out.append(value_.text.data, value_.text.size);
      break;
    case Kind::character:
      out += value_.character;
      break;
    case Kind::integer:
      out += std::to_string(value_.integer);
      break;
    case Kind::natural:
      out += std::to_string(value_.natural);
      break;
    case Kind::number: {
      constexpr int kDigits = 6;
      std::array<char, 32> digits{};
      char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value_.number,
                                std::chars_format::general, kDigits)
                      .ptr;
      out.append(std::string_view(digits.data(), end));
      break;
    }
    case Kind::other:
      value_.other.append(out, value_.other.value);
      break;
  }
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
