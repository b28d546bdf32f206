#pragma once

#include <string>
#include <vector>

#include "generate/grammar/program.h"

namespace headlight {

enum class EndBy { any_text, empty_text };

// Returns 1 for each node from which a text leads to the end of its rule: any text, or only the
// empty one.
std::vector<char> reaches_end(const GrammarProgram& program, EndBy by);

// Throws Error with the name of a rule that may begin with itself: reading it would never end.
void refuse_left_recursion(const GrammarProgram& program, const std::vector<std::string>& names);

}  // namespace headlight
