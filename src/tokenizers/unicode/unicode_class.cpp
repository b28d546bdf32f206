#include "tokenizers/unicode/unicode_class.h"

#include <vector>

namespace headlight {
namespace {

// Returns one byte per code point up to the last run (900 kB): the class, plus 4 for word
// characters. Later code points are kOther. A lookup is faster than a search among the runs.
std::vector<std::uint8_t> expand(std::span<const std::uint32_t> runs) {
  std::vector<std::uint8_t> kinds;
  for (const std::uint32_t run : runs) {
    kinds.insert(kinds.end(), run >> 3, static_cast<std::uint8_t>(run & 7));
  }
  return kinds;
}

std::uint8_t kind_of(char32_t code_point) {
  static const std::vector<std::uint8_t> kinds = expand(unicode_runs());
  return code_point < kinds.size() ? kinds[code_point] : 0;
}

}  // namespace

UnicodeClass unicode_class(char32_t code_point) {
  return static_cast<UnicodeClass>(kind_of(code_point) & 3);
}

bool is_word_character(char32_t code_point) { return (kind_of(code_point) & 4) != 0; }

}  // namespace headlight
