#include "heads/terminal_label.h"

#include <algorithm>
#include <array>

#include "headlight/heads/attention_text.h"
#include "headlight/text/utf8.h"

namespace headlight {
namespace {

struct CodePoints {
  char32_t first;
  char32_t last;
};

// Marks that stand on the character before (the blocks of combining marks, and Hangul vowels and
// finals that follow an initial).
constexpr std::array<CodePoints, 11> kMarks = {{{0x0300, 0x036F},
                                                {0x0483, 0x0489},
                                                {0x0591, 0x05BD},
                                                {0x0610, 0x061A},
                                                {0x064B, 0x065F},
                                                {0x093A, 0x094D},
                                                {0x0E31, 0x0E3A},
                                                {0x1160, 0x11FF},
                                                {0x1AB0, 0x1AFF},
                                                {0x20D0, 0x20FF},
                                                {0x1F3FB, 0x1F3FF}}};

// East Asian Width W and F (Unicode TR11), and characters that are emoji by themselves.
constexpr std::array<CodePoints, 24> kWide = {
    {{0x1100, 0x115F}, {0x231A, 0x231B}, {0x2329, 0x232A},   {0x23E9, 0x23EC},  {0x23F0, 0x23F0},
     {0x25FD, 0x25FE}, {0x2614, 0x2615}, {0x2648, 0x2653},   {0x26A1, 0x26A1},  {0x26C4, 0x26C5},
     {0x26D4, 0x26D4}, {0x2705, 0x2705}, {0x2728, 0x2728},   {0x274C, 0x274C},  {0x2753, 0x2755},
     {0x2B50, 0x2B50}, {0x2E80, 0x303E}, {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
     {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}}};

template <std::size_t N>
bool within(const std::array<CodePoints, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const CodePoints& range) { return c >= range.first && c <= range.last; });
}

bool is_joiner(char32_t c) { return c == 0x200C || c == 0x200D || (c >= 0xFE00 && c <= 0xFE0F); }

Index width_of(char32_t c) {
  return is_joiner(c) || within(kMarks, c) ? 0 : within(kWide, c) ? 2 : 1;
}

}  // namespace

Index terminal_width(std::string_view text) {
  Index width = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    width += width_of(character.code_point);
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return width;
}

std::vector<std::string> terminal_characters(std::string_view label) {
  std::vector<std::string> characters;
  while (!label.empty()) {
    const Utf8Character character = first_character(label);
    const auto length = static_cast<std::size_t>(character.length);
    const bool mark = within(kMarks, character.code_point);
    if (mark && !characters.empty()) {
      characters.back() += label.substr(0, length);
    } else if (!is_joiner(character.code_point) && !mark) {
      characters.emplace_back(label.substr(0, length));
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
