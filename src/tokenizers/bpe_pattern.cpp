#include "headlight/tokenizers/bpe_pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "headlight/base/utf8.h"
#include "tokenizers/unicode/unicode_class.h"

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

// Returns the end of the run of `kind` characters that starts at `position`.
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

// Length of 's 't 're 've 'm 'll 'd at the start of `text`, which begins with '; else 0.
std::size_t contraction_length(std::string_view text) {
  const char first = text.size() > 1 ? text[1] : '\0';
  if (first == 's' || first == 't' || first == 'm' || first == 'd') {
    return 2;
  }
  const std::string_view two = text.substr(1, 2);
  return two == "re" || two == "ve" || two == "ll" ? 3 : 0;
}

// Returns the length of a run of white space. Its last character goes to the next piece if text
// follows and the run has more than one character.
std::size_t blank_length(std::string_view text) {
  std::size_t end = 0;
  std::size_t last = 0;  // start of the run's last character
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

// True if a piece surely ends before ASCII white space at `position`: white space is only at a
// piece's start, unless the whole piece is white space.
bool is_between_pieces(std::string_view text, std::size_t position) {
  const char before = text[position - 1];
  const bool ascii = static_cast<std::uint8_t>(before) < kAsciiClasses.size();
  return is_ascii(text[position], UnicodeClass::kSpace) && ascii &&
         !is_ascii(before, UnicodeClass::kSpace);
}

template <class IsMatch>
std::vector<std::string_view> split_at(std::string_view text, std::size_t size,
                                       const IsMatch& is_match) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    std::size_t end = std::min(std::max<std::size_t>(size, 1), text.size());
    while (end < text.size() && !is_match(text, end)) {
      ++end;
    }
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// Like contraction_length(), but in either case. U+017F is a lower-case s, too.
std::size_t any_contraction_length(std::string_view text) {
  const auto lower = [&](std::size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  if (text.substr(1).starts_with("\u017F")) {
    return 3;
  }
  const char lowered[] = {'\'', lower(1), lower(2)};
  return contraction_length(std::string_view(lowered, std::min<std::size_t>(text.size(), 3)));
}

// Returns the length of white space up to its last line end; without one, blank_length().
std::size_t line_end_length(std::string_view text) {
  const std::size_t end = run_end(text, 0, UnicodeClass::kSpace);
  const std::size_t last = text.substr(0, end).find_last_of("\r\n");
  return last != std::string_view::npos ? last + 1 : blank_length(text);
}

std::size_t number_length(std::string_view text, int most) {
  std::size_t end = 0;
  for (int i = 0; i < most && end < text.size(); ++i) {
    const Character character = character_at(text, end);
    if (character.kind != UnicodeClass::kNumber) {
      break;
    }
    end += character.length;
  }
  return end;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,MOST}| ?[^\s\p{L}\p{N}]+[\r\n]*|
// \s*[\r\n]+|\s+(?!\S)|\s+
template <int kMostDigits>
std::size_t line_piece_length(std::string_view text) {
  const std::size_t contraction = text[0] == '\'' ? any_contraction_length(text) : 0;
  if (contraction > 0) {
    return contraction;
  }
  const Character first = character_at(text, 0);
  if (first.kind == UnicodeClass::kLetter) {
    return run_end(text, first.length, UnicodeClass::kLetter);
  }
  if (first.kind == UnicodeClass::kNumber) {
    return number_length(text, kMostDigits);
  }
  const bool ends = first.length == text.size();
  const Character second =
      ends ? Character{UnicodeClass::kSpace} : character_at(text, first.length);
  if (second.kind == UnicodeClass::kLetter && !is_line_end(text[0])) {
    return run_end(text, first.length + second.length, UnicodeClass::kLetter);
  }
  const bool blank = text[0] == ' ' && second.kind == UnicodeClass::kOther;
  if (!blank && first.kind == UnicodeClass::kSpace) {
    return line_end_length(text);
  }
  std::size_t end = run_end(text, first.length, UnicodeClass::kOther);
  while (end < text.size() && is_line_end(text[end])) {
    ++end;
  }
  return end;
}

struct KnownPattern {
  std::string_view regex;
  PieceLength length_of;
};

constexpr std::array kKnownPatterns{
    KnownPattern{R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
                 bpe_piece_length},
    KnownPattern{kLlama3Pattern, line_piece_length<3>},
    KnownPattern{kQwen2Pattern, line_piece_length<1>}};

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

PieceLength known_piece_pattern(std::string_view regex) {
  const auto found = std::find_if(kKnownPatterns.begin(), kKnownPatterns.end(),
                                  [&](const KnownPattern& known) { return known.regex == regex; });
  return found == kKnownPatterns.end() ? nullptr : found->length_of;
}

std::vector<std::string_view> split_between_pieces(std::string_view text, std::size_t size) {
  return split_at(text, size, is_between_pieces);
}

std::vector<std::string_view> split_at_blanks(std::string_view text, std::size_t size) {
  return split_at(text, size, [](std::string_view whole, std::size_t position) {
    return whole[position] == ' ' && is_between_pieces(whole, position);
  });
}

std::vector<std::string_view> split_between_lines(std::string_view text, std::size_t size) {
  return split_at(text, size, [](std::string_view whole, std::size_t position) {
    return whole[position - 1] == '\n';
  });
}

}  // namespace headlight
