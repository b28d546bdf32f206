#include "text/unicode_class.h"

#include <algorithm>
#include <vector>

namespace headlight {
namespace {

// Returns one byte per code point up to the last run (200 kB); later code points are kOther. A
// lookup is faster than a search among the runs.
std::vector<UnicodeClass> expand(std::span<const std::uint32_t> runs) {
  std::vector<UnicodeClass> classes(runs.back() >> 2);
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    for (std::uint32_t c = runs[i] >> 2; c < runs[i + 1] >> 2; ++c) {
      classes[c] = static_cast<UnicodeClass>(runs[i] & 3);
    }
  }
  return classes;
}

}  // namespace

UnicodeClass unicode_class(char32_t code_point) {
  static const std::vector<UnicodeClass> classes = expand(unicode_class_runs());
  return code_point < classes.size() ? classes[code_point] : UnicodeClass::kOther;
}

bool is_word_character(char32_t code_point) {
  const std::span<const std::uint32_t> runs = unicode_word_runs();
  const auto next = std::upper_bound(runs.begin(), runs.end(), code_point);
  return (next - runs.begin()) % 2 == 1;
}

}  // namespace headlight
