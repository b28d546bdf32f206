#pragma once

#include <ostream>
#include <vector>

#include "parity/verdict.h"

namespace headlight::parity {

// One row for every rung: "what | cases | largest error | limit | verdict". A row shows the case
// that comes closest to its limit. What did not pass follows, a line each.
void print_table(std::ostream& out, const std::vector<Verdict>& verdicts);

// Prints one JSON object with all cases.
void print_json(std::ostream& out, const std::vector<Verdict>& verdicts);

bool all_passed(const std::vector<Verdict>& verdicts);

}  // namespace headlight::parity
