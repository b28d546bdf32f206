#include "views/attention/terminal_label.h"

#include <algorithm>

#include "headlight/base/terminal_width.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

bool is_joiner(char32_t c) { return c == 0x200C || c == 0x200D || (c >= 0xFE00 && c <= 0xFE0F); }

}  // namespace

std::vector<std::string> terminal_characters(std::string_view label) {
  std::vector<std::string> characters;
  while (!label.empty()) {
    const Utf8Character character = first_character(label);
    const auto length = static_cast<std::size_t>(character.length);
    if (terminal_width(character.code_point) > 0) {
      characters.emplace_back(label.substr(0, length));
    } else if (!is_joiner(character.code_point) && !characters.empty()) {
      characters.back() += label.substr(0, length);
    }
    label.remove_prefix(length);
  }
  return characters;
}

std::string terminal_label(const std::vector<std::string>& characters, Index columns) {
  Index all = 0;
  for (const std::string& character : characters) {
    all += terminal_width(character);
  }
  std::string label;
  Index used = 0;
  for (const std::string& character : characters) {
    const Index width = terminal_width(character);
    if (all > columns && used + width > columns - 1) {
      return label + "…";
    }
    used += width;
    label += character;
  }
  return label;
}

std::string pad_left(const std::string& text, Index columns) {
  const Index blanks = std::max<Index>(0, columns - terminal_width(text));
  return std::string(static_cast<std::size_t>(blanks), ' ') + text;
}

std::string pad_right(const std::string& text, Index columns) {
  const Index blanks = std::max<Index>(0, columns - terminal_width(text));
  return text + std::string(static_cast<std::size_t>(blanks), ' ');
}

}  // namespace headlight
