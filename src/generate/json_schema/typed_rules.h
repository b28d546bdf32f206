#pragma once

#include <string>

#include "generate/json_schema/languages/schema_texts.h"
#include "generate/json_schema/schema_cases.h"
#include "generate/json_schema/schema_rules.h"

namespace headlight {

// Return the name of a rule for the objects or arrays that satisfy all nodes.
std::string object_rule(SchemaRules& rules, const SchemaCase& nodes);
std::string array_rule(SchemaRules& rules, const SchemaCase& nodes);

// Returns the name of a rule for the items of an array, without brackets, that all differ. Throws
// Error unless they have listed values. Up to 8 values come in any order, more values in theirs.
std::string unique_items(SchemaRules& rules, const SchemaCase& nodes, const CountLimits& limits);

}  // namespace headlight
