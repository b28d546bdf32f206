#pragma once

#include <string>

#include "generate/json_schema/schema_cases.h"
#include "generate/json_schema/schema_rules.h"

namespace headlight {

// Returns the name of a rule for the arrays that satisfy all nodes.
std::string array_rule(SchemaRules& rules, const SchemaCase& nodes);

}  // namespace headlight
