#pragma once

#include <string>

#include "base/json.h"

namespace headlight {

// See json_schema_grammar(std::string_view) in headlight/generate/grammar.h.
std::string json_schema_grammar(const Json& schema);

}  // namespace headlight
