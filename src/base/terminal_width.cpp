#include "headlight/base/terminal_width.h"

#include <algorithm>
#include <array>

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array kWide{
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2329, 0x232A},
    Range{0x23E9, 0x23EC},   Range{0x23F0, 0x23F0},   Range{0x23F3, 0x23F3},
    Range{0x25FD, 0x25FE},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},
    Range{0x26A1, 0x26A1},   Range{0x26BD, 0x26BE},   Range{0x26C4, 0x26C5},
    Range{0x26D4, 0x26D4},   Range{0x2705, 0x2705},   Range{0x270A, 0x270B},
    Range{0x2728, 0x2728},   Range{0x274C, 0x274C},   Range{0x2753, 0x2755},
    Range{0x2757, 0x2757},   Range{0x2795, 0x2797},   Range{0x2B50, 0x2B50},
    Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},
    Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97F},
    Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},
    Range{0xFF01, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x1F004, 0x1F004},
    Range{0x1F0CF, 0x1F0CF}, Range{0x1F18E, 0x1F19A}, Range{0x1F1E6, 0x1F1FF},
    Range{0x1F200, 0x1F320}, Range{0x1F32D, 0x1F64F}, Range{0x1F680, 0x1F6FC},
    Range{0x1F7E0, 0x1F7EB}, Range{0x1F90C, 0x1F9FF}, Range{0x1FA70, 0x1FAFF},
    Range{0x20000, 0x3FFFD}};

constexpr std::array kWithoutWidth{
    Range{0x0300, 0x036F},   Range{0x0483, 0x0489},  Range{0x0591, 0x05BD}, Range{0x0610, 0x061A},
    Range{0x064B, 0x065F},   Range{0x093A, 0x093C},  Range{0x093E, 0x094D}, Range{0x0E31, 0x0E31},
    Range{0x0E34, 0x0E3A},   Range{0x0E47, 0x0E4E},  Range{0x1160, 0x11FF}, Range{0x1AB0, 0x1AFF},
    Range{0x1DC0, 0x1DFF},   Range{0x200B, 0x200D},  Range{0x20D0, 0x20FF}, Range{0x302A, 0x302D},
    Range{0x3099, 0x309A},   Range{0xFE00, 0xFE0F},  Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF},
    Range{0x1F3FB, 0x1F3FF}, Range{0xE0100, 0xE01EF}};

template <class Ranges>
bool holds(const Ranges& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return c >= range.first && c <= range.last; });
}

}  // namespace

Index terminal_width(char32_t character) {
  return holds(kWithoutWidth, character) ? 0 : holds(kWide, character) ? 2 : 1;
}

Index terminal_width(std::string_view text) {
  Index width = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    width += terminal_width(character.code_point);
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return width;
}

}  // namespace headlight
