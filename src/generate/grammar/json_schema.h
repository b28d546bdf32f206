#pragma once

#include <string>

#include "base/json.h"

namespace headlight {

// See json_schema_grammar(std::string_view) in headlight/generate/grammar.h. `rule`: name of the
// first rule, whose texts are the values.
std::string json_schema_grammar(const Json& schema, const std::string& rule = "root");

}  // namespace headlight
