#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// The candidate that takes the fewest single-letter edits to reach from `word`, for "did you mean";
// "" when none is near. Wagner and Fischer, "The String-to-String Correction Problem", 1974.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean 'CANDIDATE'?", to end a message with; "" when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace headlight
