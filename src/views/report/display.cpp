#include "views/report/display.h"

#include <array>
#include <cstdio>
#include <sstream>

#include "headlight/base/terminal_width.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Controls, and the characters that turn the direction of a line.
bool steers_terminal(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

std::string visible_character(char32_t c, std::string_view bytes) {
  if (c == U' ' || c == U'\n' || c == U'\t') {
    return c == U' ' ? "·" : c == U'\n' ? "↵" : "→";
  }
  if (!steers_terminal(c)) {
    return std::string(bytes);
  }
  std::array<char, 16> name;
  std::snprintf(name.data(), name.size(), "<U+%04X>", static_cast<unsigned>(c));
  return name.data();
}

}  // namespace

std::string visible_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const auto length = static_cast<std::size_t>(character.length);
    result += character.valid ? visible_character(character.code_point, text.substr(0, length))
                              : std::string(kReplacementCharacter);
    text.remove_prefix(length);
  }
  return result;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(terminal_width(text));
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
  constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) {
    bar += "█";
  }
  return bar.append(kEighths[static_cast<std::size_t>(eighths % 8)]);
}

std::string block_bar(int eighths, int width) {
  const int used = (eighths + 7) / 8;
  return block_bar(eighths) + std::string(static_cast<std::size_t>(std::max(width - used, 0)), ' ');
}

}  // namespace headlight
