#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// The candidate that takes the fewest single-letter edits to reach from `word`, for "did you mean";
// "" when none is near. Wagner and Fischer, "The String-to-String Correction Problem", 1974.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace headlight
