#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// Returns `text` without outer blanks, tabs and carriage returns.
std::string_view trimmed(std::string_view text);

// Splits "a,b, c" at commas, without surrounding blanks; an empty text gives no parts.
std::vector<std::string> split_at_commas(const std::string& text);

// Splits a text at every character `at`; an empty text gives one empty part.
std::vector<std::string> split_at(char at, std::string_view text);

// Returns the texts with `between` between them.
std::string joined(const std::vector<std::string>& texts, const std::string& between);

}  // namespace headlight
