#pragma once

#include "generate/json_schema/schema_document.h"

namespace headlight {

// Returns whether it is certain that no value satisfies both schemas.
bool are_disjoint(SchemaDocument& document, const SchemaPart& a, const SchemaPart& b);

// Returns the values of both lists, each once, in the order of `a`.
std::vector<Json> common_values(const std::vector<Json>& a, const std::vector<Json>& b);

}  // namespace headlight
