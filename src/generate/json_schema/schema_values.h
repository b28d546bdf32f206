#pragma once

#include "generate/json_schema/schema_cases.h"

namespace headlight {

// Whether a value satisfies a schema. Validators may differ for some patterns and formats.
enum class Satisfied { no, unknown, yes };

// Returns whether a regular expression has a match in a text.
Satisfied pattern_match(SchemaDocument& document, const Json& pattern, std::string_view text,
                        const std::string& where);

// Returns whether a value satisfies a schema, with all schemas within it.
Satisfied satisfied(SchemaDocument& document, const Json& value, const SchemaPart& part);

// As satisfied(), for all nodes of a case; leaves out "enum" and "const".
Satisfied satisfied_beyond_lists(SchemaDocument& document, const Json& value,
                                 const SchemaCase& nodes);

}  // namespace headlight
