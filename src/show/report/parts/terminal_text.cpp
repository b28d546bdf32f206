#include "show/report/parts/terminal_text.h"

#include <algorithm>
#include <array>
#include <sstream>

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

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(terminal_width(text));
}

Index widest(const std::vector<std::string>& texts) {
  Index width = 0;
  for (const std::string& text : texts) {
    width = std::max(width, terminal_width(text));
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

std::string block_bar(int eighths) {
  constexpr std::array<std::string_view, 8> kBarEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) {
    bar += "█";
  }
  return bar.append(kBarEighths[static_cast<std::size_t>(eighths % 8)]);
}

std::string progress_line(double share, const std::vector<std::string>& parts, Index columns) {
  constexpr Index kLeastBar = 8;
  constexpr Index kMostBar = 24;
  constexpr Index kFrame = 3;  // "│", "│ "
  // Some terminals wrap a line that fills the last column.
  const Index room = columns - 1;
  std::string text = parts.at(0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string longer = text + "  " + parts[i];
    if (terminal_width(longer) + kLeastBar + kFrame > room) {
      break;
    }
    text = longer;
  }
  const Index bar = std::min(kMostBar, room - kFrame - terminal_width(text));
  if (bar < kLeastBar) {
    return terminal_label(terminal_characters(text), std::max<Index>(room, 1));
  }
  const auto eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * static_cast<double>(bar) * 8);
  return "│" + pad_right(block_bar(eighths), bar) + "│ " + text;
}

}  // namespace headlight
