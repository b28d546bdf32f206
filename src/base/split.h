#pragma once

#include <string>
#include <vector>

namespace headlight {

// The parts of "a,b, c" without blanks around them; no text has none.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace headlight
