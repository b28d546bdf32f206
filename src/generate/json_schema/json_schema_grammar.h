#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace headlight {

// Name of a grammar rule, and the schema of its values: a JSON pointer "#/..." into the document.
using SchemaRule = std::pair<std::string, std::string>;

// See json_schema_grammar(std::string_view) in headlight/generate/grammar.h. Writes the given rules
// and all that they need. Throws Error also when the budget is spent.
std::string json_schema_grammar(const Json& document,
                                std::vector<SchemaRule> rules = {{"root", "#"}},
                                WorkBudget budget = {});

}  // namespace headlight
