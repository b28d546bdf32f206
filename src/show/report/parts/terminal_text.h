#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/index.h"

// Text that fits a terminal.
namespace headlight {

// Escape sequences of a terminal: faint text from here on, and the end of all styles.
inline constexpr const char* kFaintStyle = "\x1B[2m";
inline constexpr const char* kStyleEnd = "\x1B[0m";

// Returns the characters of a token's label, each with its combining marks. Omits joiners and
// variation selectors: terminals disagree about the width of joined characters.
std::vector<std::string> terminal_characters(std::string_view label);

// Joins `characters`, cut with an ellipsis to at most `columns`.
std::string terminal_label(const std::vector<std::string>& characters, Index columns);

// Return `text` with blanks before (pad_left) or after it, at least `columns` wide.
std::string pad_left(const std::string& text, Index columns);
std::string pad_right(const std::string& text, Index columns);

// Returns terminal_width() as std::size_t.
std::size_t display_width(std::string_view text);

// Returns the largest terminal_width(); 0 without texts.
Index widest(const std::vector<std::string>& texts);

// Wraps the words of a text to lines of at most `columns`, each ending with a newline. Lines after
// the first begin with `indent` blanks. A longer word gets a line of its own.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent = 0);

// Returns a bar as long as `eighths` eighths of a character.
std::string block_bar(int eighths);

// Returns a progress line of less than `columns`: "│████    │ 50% 3/6  loss 2.3". It shows the
// first part always, and further parts as long as they fit beside a bar of 8 characters.
std::string progress_line(double share, const std::vector<std::string>& parts, Index columns);

}  // namespace headlight
