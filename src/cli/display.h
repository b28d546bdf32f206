#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text as terminals show it.
namespace headlight::cli {

// Columns that a text takes: Korean, Chinese, Japanese and full-width characters take two.
std::size_t display_width(std::string_view text);

// The words of a text in lines of at most `columns`, each ending with a newline; lines after the
// first begin with `indent` blanks. A longer word gets a line of its own.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent = 0);

}  // namespace headlight::cli
