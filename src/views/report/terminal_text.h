#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/index.h"

// Text that fits a terminal.
namespace headlight {

// The characters of a token's label, each with the marks that stand on it. Joiners and variation
// selectors are left out: terminals disagree about how wide what they join is.
std::vector<std::string> terminal_characters(std::string_view label);

// `characters` joined and cut with an ellipsis so that they take at most `columns`.
std::string terminal_label(const std::vector<std::string>& characters, Index columns);

// `text` with blanks before or after it, `columns` wide.
std::string pad_left(const std::string& text, Index columns);
std::string pad_right(const std::string& text, Index columns);

// terminal_width() as the size that it is beside those of strings.
std::size_t display_width(std::string_view text);

// The words of a text in lines of at most `columns`, each ending with a newline; lines after the
// first begin with `indent` blanks. A longer word gets a line of its own.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent = 0);

// A bar as long as `eighths` eighths of a character.
std::string block_bar(int eighths);

// The same, filled up with blanks to `width` characters.
std::string block_bar(int eighths, int width);

// How much is done, in less than `columns`: "│████    │ 50% 3/6  loss 2.3". The first of the parts
// is always there, the next are as far as they fit beside a short bar.
std::string progress_line(double share, const std::vector<std::string>& parts, Index columns);

}  // namespace headlight
