#include "views/report/display.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "headlight/base/terminal_width.h"

namespace headlight {

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
