#pragma once

#include <cstddef>
#include <string_view>

namespace headlight {

// Returns the length of the beginning of `text` that has the most bytes of the end of `answer` at
// its end; of equal ones the shortest, and 0 if none has any. The time is linear (Z algorithm:
// Gusfield, "Algorithms on Strings, Trees and Sequences", 1997).
std::size_t length_to_tail(std::string_view text, std::string_view answer);

}  // namespace headlight
