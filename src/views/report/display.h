#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text for a terminal.
namespace headlight {

// terminal_width() as the size that it is beside those of strings.
std::size_t display_width(std::string_view text);

// The words of a text in lines of at most `columns`, each ending with a newline; lines after the
// first begin with `indent` blanks. A longer word gets a line of its own.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent = 0);

// A bar as long as `eighths` eighths of a character.
std::string block_bar(int eighths);

// The same, filled up with blanks to `width` characters.
std::string block_bar(int eighths, int width);

}  // namespace headlight
