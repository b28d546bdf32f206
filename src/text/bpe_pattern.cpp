#include "headlight/text/bpe_pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "headlight/base/utf8.h"
#include "text/unicode_class.h"

namespace headlight {
namespace {

struct Character {
  UnicodeClass kind = UnicodeClass::kOther;
  std::size_t length = 0;  // bytes
};

constexpr std::array<UnicodeClass, 128> ascii_classes() {
  std::array<UnicodeClass, 128> classes{};
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    classes[c] = letter                 ? UnicodeClass::kLetter
                 : c >= '0' && c <= '9' ? UnicodeClass::kNumber
                 : space                ? UnicodeClass::kSpace
                                        : UnicodeClass::kOther;
  }
  return classes;
}

constexpr std::array<UnicodeClass, 128> kAsciiClasses = ascii_classes();

Character character_at(std::string_view text, std::size_t position) {
  const auto first = static_cast<std::uint8_t>(text[position]);
  if (first < kAsciiClasses.size()) {
    return {kAsciiClasses[first], 1};
  }
  const Utf8Character character = first_character(text.substr(position));
  const auto length = static_cast<std::size_t>(character.length);
  return {character.valid ? unicode_class(character.code_point) : UnicodeClass::kOther, length};
}

// Where the run of characters of one class ends that goes on at `position`.
std::size_t run_end(std::string_view text, std::size_t position, UnicodeClass kind) {
  while (position < text.size()) {
    const Character character = character_at(text, position);
    if (character.kind != kind) {
      break;
    }
    position += character.length;
  }
  return position;
}

// 's 't 're 've 'm 'll 'd at the beginning of `text`, which begins with an apostrophe; else 0.
std::size_t contraction_length(std::string_view text) {
  const char first = text.size() > 1 ? text[1] : '\0';
  if (first == 's' || first == 't' || first == 'm' || first == 'd') {
    return 2;
  }
  const std::string_view two = text.substr(1, 2);
  return two == "re" || two == "ve" || two == "ll" ? 3 : 0;
}

// A run of white space; its last character goes to what follows, if anything does and the run has
// more than one.
std::size_t blank_length(std::string_view text) {
  std::size_t end = 0;
  std::size_t last = 0;  // where the run's last character begins
  while (end < text.size()) {
    const Character character = character_at(text, end);
    if (character.kind != UnicodeClass::kSpace) {
      return last > 0 ? last : end;
    }
    last = end;
    end += character.length;
  }
  return end;
}

bool is_ascii(char c, UnicodeClass kind) {
  const auto byte = static_cast<std::uint8_t>(c);
  return byte < kAsciiClasses.size() && kAsciiClasses[byte] == kind;
}

// A piece has white space at its beginning or is white space: before a blank that follows something
// else, one ends whatever the rest of the text is.
bool is_between_pieces(std::string_view text, std::size_t position) {
  const char before = text[position - 1];
  const bool ascii = static_cast<std::uint8_t>(before) < kAsciiClasses.size();
  return is_ascii(text[position], UnicodeClass::kSpace) && ascii &&
         !is_ascii(before, UnicodeClass::kSpace);
}

}  // namespace

std::size_t bpe_piece_length(std::string_view text) {
  const std::size_t contraction = text[0] == '\'' ? contraction_length(text) : 0;
  if (contraction > 0) {
    return contraction;
  }
  const std::size_t start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const Character first = character_at(text, start);
  if (first.kind == UnicodeClass::kSpace) {
    return blank_length(text);
  }
  return run_end(text, start + first.length, first.kind);
}

std::vector<std::string_view> split_between_pieces(std::string_view text, std::size_t size) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    std::size_t end = std::min(std::max<std::size_t>(size, 1), text.size());
    while (end < text.size() && !is_between_pieces(text, end)) {
      ++end;
    }
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

}  // namespace headlight
