#pragma once

#include <vector>

#include "generate/json_schema/schema_document.h"

namespace headlight {

// Returns schemas for values that do not satisfy a part: one of the lists must hold. It may leave
// out some of these values. Throws Error that names a keyword if it can express none of them.
std::vector<SchemaParts> negation(SchemaDocument& document, const SchemaPart& part);

}  // namespace headlight
