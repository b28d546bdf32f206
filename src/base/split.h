#pragma once

#include <string>
#include <vector>

namespace headlight {

// Splits "a,b, c" at commas, without surrounding blanks; an empty text gives no parts.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace headlight
