#pragma once

#include <string>
#include <vector>

namespace headlight {

// Splits "a,b, c" at commas, without surrounding blanks; an empty text gives no parts.
std::vector<std::string> split_at_commas(const std::string& text);

// Returns the texts with `between` between them.
std::string joined(const std::vector<std::string>& texts, const std::string& between);

}  // namespace headlight
