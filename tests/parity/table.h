#pragma once

#include <ostream>
#include <vector>

#include "parity/verdict.h"

namespace headlight::parity {

// Prints one row per rung: "what | cases | largest error | limit | verdict", for the case closest
// to its limit. One line per failed case follows.
void print_table(std::ostream& out, const std::vector<CaseVerdict>& verdicts);

// Prints one JSON object with all cases.
void print_json(std::ostream& out, const std::vector<CaseVerdict>& verdicts);

bool all_passed(const std::vector<CaseVerdict>& verdicts);

}  // namespace headlight::parity
