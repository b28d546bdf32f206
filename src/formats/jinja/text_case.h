#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/jinja/runtime.h"
#include "formats/jinja/words.h"
#include "tokenizers/unicode/unicode_class.h"

// Functions on texts that methods, filters and tests share. Letter cases are as in Python.
namespace headlight::jinja {

// Generated tables, see case_table.cpp.
struct CaseTable {
  // First letter of each run, the count, the step, and the distance to the other case.
  std::span<const std::uint32_t> upper;
  std::span<const std::uint32_t> lower;
  // Each letter that becomes several, their count, and these. `title`: also letters whose title
  // case is not their upper case.
  std::span<const std::uint32_t> long_upper;
  std::span<const std::uint32_t> title;
  // First letter and count of each run without another case.
  std::span<const std::uint32_t> only_lower;
  std::span<const std::uint32_t> only_upper;
};
const CaseTable& case_table();

inline bool is_number_character(char32_t code) {
  return unicode_class(code) == UnicodeClass::kNumber;
}
inline bool is_letter(char32_t code) { return unicode_class(code) == UnicodeClass::kLetter; }
inline bool is_letter_or_number(char32_t code) {
  return is_letter(code) || is_number_character(code);
}

std::string upper_text(std::string_view text);
std::string lower_text(std::string_view text);
// Returns the text with an upper-case letter at the beginning, and lower-case ones behind.
std::string capitalized_text(std::string_view text);
// Returns the text with an upper-case letter after every character without letter case.
std::string title_text(std::string_view text);
// Return true if the text has letters with a case, and all are of this case.
bool is_lower_text(std::string_view text);
bool is_upper_text(std::string_view text);

// Returns the text without white space at its sides, or without the characters of argument 0.
std::string stripped_by(const Call& call, std::string_view text, Side side);
// Replaces the first `most` occurrences; all if `most` is negative.
std::string replaced(Budget& budget, std::string_view text, std::string_view old,
                     std::string_view with, std::int64_t most);

}  // namespace headlight::jinja
