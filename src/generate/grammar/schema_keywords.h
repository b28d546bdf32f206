#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/base/error.h"

namespace headlight {

// Throws Error "json_schema: PLACE: ...".
template <class... Parts>
[[noreturn]] void refuse_schema(const std::string& place, const Parts&... parts) {
  fail_value("json_schema", place, ": ", parts...);
}

template <class... Parts>
void require_schema(bool condition, const std::string& place, const Parts&... parts) {
  if (!condition) {
    refuse_schema(place, parts...);
  }
}

// Returns whether a keyword does not restrict values: descriptions and definitions.
bool is_annotation(std::string_view keyword);

// Throws Error naming the first keyword that is not supported.
void check_keywords(const Json& schema, const std::string& place);

// Returns the types that `type` names; all types if it is missing.
std::vector<std::string> types_of(const Json& schema, const std::string& place);

// Returns the types that the keywords of a schema without `type` are about; all types if there are
// none.
std::vector<std::string> types_of_keywords(const Json& schema);

// Returns whether a value has the type "integer", "number", "string", ...
bool has_type(const Json& value, std::string_view type);

// Returns the values of `const` or `enum`; empty: neither is given.
std::vector<Json> listed_values(const Json& schema, const std::string& place);

// Returns a keyword's value, a number from 0.
std::size_t count_of(const Json& schema, std::string_view keyword, std::size_t otherwise,
                     const std::string& place);

}  // namespace headlight
