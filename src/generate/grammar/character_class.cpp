#include "generate/grammar/character_class.h"

#include <algorithm>
#include <optional>

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

using Ranges = std::vector<CharacterRange>;

// Returns the last character of the first part of a range that must be divided: at the surrogates,
// where the number of bytes changes, and where a byte does not take all values up to its limit.
std::optional<char32_t> first_cut(const CharacterRange& range) {
  for (const char32_t last : {0x7Fu, 0x7FFu, 0xD7FFu, 0xDFFFu, 0xFFFFu}) {
    if (range.first <= last && last < range.last) {
      return last;
    }
  }
  for (const unsigned bits : {6U, 12U, 18U}) {
    const char32_t mask = (char32_t{1} << bits) - 1;
    if (range.last > 0x7F && (range.first & ~mask) != (range.last & ~mask)) {
      if ((range.first & mask) != 0) {
        return range.first | mask;
      }
      if ((range.last & mask) != mask) {
        return (range.last & ~mask) - 1;
      }
    }
  }
  return std::nullopt;
}

GrammarFragment byte_sequence(ProgramBuilder& builder, const CharacterRange& range) {
  std::string low;
  std::string high;
  append_utf8(range.first, low);
  append_utf8(range.last, high);
  GrammarFragment all = builder.empty();
  for (std::size_t i = 0; i < low.size(); ++i) {
    all = builder.sequence(
        all, builder.byte(static_cast<std::uint8_t>(low[i]), static_cast<std::uint8_t>(high[i])));
  }
  return all;
}

}  // namespace

Ranges merged_ranges(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CharacterRange& a, const CharacterRange& b) { return a.first < b.first; });
  Ranges result;
  for (const CharacterRange& range : ranges) {
    if (!result.empty() && range.first <= result.back().last + 1) {
      result.back().last = std::max(result.back().last, range.last);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

Ranges other_characters(const Ranges& ranges) {
  Ranges result;
  char32_t first = 0;
  for (const CharacterRange& range : ranges) {
    if (first < range.first) {
      result.push_back({first, range.first - 1});
    }
    first = range.last + 1;
  }
  if (first <= kLastCharacter) {
    result.push_back({first, kLastCharacter});
  }
  return result;
}

GrammarFragment character_class(ProgramBuilder& builder, std::vector<CharacterRange> ranges,
                                bool negated) {
  Ranges work = merged_ranges(std::move(ranges));
  work = negated ? other_characters(work) : work;
  std::reverse(work.begin(), work.end());
  std::optional<GrammarFragment> all;
  while (!work.empty()) {
    const CharacterRange range = work.back();
    work.pop_back();
    if (const auto cut = first_cut(range)) {
      work.push_back({*cut + 1, range.last});
      work.push_back({range.first, *cut});
    } else if (range.first < 0xD800 || range.first > 0xDFFF) {
      const GrammarFragment one = byte_sequence(builder, range);
      all = all ? builder.either(*all, one) : one;
    }
  }
  return all ? *all : builder.byte(1, 0);
}

}  // namespace headlight
