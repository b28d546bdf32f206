#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/jinja/runtime.h"
#include "formats/jinja/words.h"
#include "tokenizers/unicode/unicode_class.h"

// Functions on texts that methods, filters and tests share. Letter cases are as in Python.
namespace headlight::jinja {

// Where letter cases do not follow from bert_characters().lower. Generated, see case_table.cpp.
struct CaseTable {
  // First letter and count of each run of letters without a case in Python.
  std::span<const std::uint32_t> newer;
  // Each letter whose upper or title case is not the one letter of which it is the lower case; the
  // count of letters that it becomes, and these.
  std::span<const std::uint32_t> upper;
  std::span<const std::uint32_t> title;
  // Runs of letters that are their own title case, but not their upper case.
  std::span<const std::uint32_t> own_title;
  // Runs of letters without another case.
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
