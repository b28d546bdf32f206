#pragma once

#include <string>

#include "generate/json_schema/schema_cases.h"
#include "generate/json_schema/schema_rules.h"

namespace headlight {

// Returns the name of a rule for the objects that satisfy all nodes. Members come in the order of
// the schemas, then those that no schema lists.
std::string object_rule(SchemaRules& rules, const SchemaCase& nodes);

}  // namespace headlight
