#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/lower_case.h"
#include "formats/jinja/runtime.h"
#include "formats/jinja/words.h"
#include "text/unicode_class.h"

// Functions on texts that methods, filters and tests share. Only the letters A to Z change case.
namespace headlight::jinja {

inline bool is_lower_letter(char c) { return c >= 'a' && c <= 'z'; }
inline bool is_number_character(char32_t code) {
  return unicode_class(code) == UnicodeClass::kNumber;
}
inline bool is_letter(char32_t code) { return unicode_class(code) == UnicodeClass::kLetter; }
inline bool is_letter_or_number(char32_t code) {
  return is_letter(code) || is_number_character(code);
}

std::string upper_text(std::string_view text);
// Returns the text with an upper-case letter at the beginning, and lower-case ones behind.
std::string capitalized_text(std::string_view text);
// Returns the text with an upper-case letter after every character that is no letter.
std::string title_text(std::string_view text);

// Returns the text without white space at its sides, or without the characters of argument 0.
std::string stripped_by(const Call& call, std::string_view text, Side side);
// Replaces the first `most` occurrences; all if `most` is negative.
std::string replaced(Budget& budget, std::string_view text, std::string_view old,
                     std::string_view with, std::int64_t most);

}  // namespace headlight::jinja
