#pragma once

#include <string>

#include "base/json.h"

namespace headlight {

// Returns a GBNF expression for the numbers of a schema with "minimum", "maximum",
// "exclusiveMinimum" or "exclusiveMaximum". Numbers have at most 18 digits before the point, and
// bounds of type "number" must be whole and inclusive. Throws Error for other bounds, and if no
// number is possible.
std::string number_expression(const Json& schema, bool is_integer, const std::string& place);

}  // namespace headlight
