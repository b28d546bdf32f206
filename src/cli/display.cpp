#include "cli/display.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "headlight/text/utf8.h"

namespace headlight::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// The blocks of Unicode 15 whose characters are wide (EastAsianWidth.txt, W and F).
constexpr std::array kWide{
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
    Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},
    Range{0xA960, 0xA97C},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD},
};

bool is_wide(char32_t code_point) {
  return std::any_of(kWide.begin(), kWide.end(), [code_point](const Range& range) {
    return range.first <= code_point && code_point <= range.last;
  });
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    width += is_wide(character.code_point) ? 2 : 1;
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return width;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::istringstream words{std::string(text)};
  std::string lines;
  std::size_t used = 0;  // columns of the last line
  for (std::string word; words >> word;) {
    const std::size_t width = display_width(word);
    if (used > indent && used + 1 + width > columns) {
      lines += "\n" + std::string(indent, ' ') + word;
      used = indent + width;
    } else {
      lines += (used > 0 ? " " : "") + word;
      used += (used > 0 ? 1 : 0) + width;
    }
  }
  return lines + "\n";
}

}  // namespace headlight::cli
