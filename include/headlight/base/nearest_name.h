#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// Returns the candidate with the smallest edit distance to `word`, for "did you mean"; "" if none
// is close. Wagner and Fischer, "The String-to-String Correction Problem", 1974.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// Returns "; did you mean 'CANDIDATE'?" for the end of a message; "" if no candidate is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace headlight
