#pragma once

#include <string_view>

#include "base/json.h"

namespace headlight {

// Returns the part of a schema that allows values of a type, "string" or "null": the schema itself,
// the one that its $ref names, or one of its anyOf or oneOf. Returns null if no part names the
// type. `root`: document of the references.
const Json* schema_part(const Json& schema, const Json& root, std::string_view type);

// Returns the value of a parameter that a model wrote as plain text. It is a text if the schema of
// the parameters allows texts there, and otherwise JSON, if it can be read as JSON.
Json parameter_value(const Json& parameters, std::string_view name, std::string_view text);

}  // namespace headlight
