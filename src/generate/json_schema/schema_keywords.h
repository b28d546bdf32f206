#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/base/error.h"

namespace headlight {

// Throws Error "json_schema: PLACE: ...".
template <class... Parts>
[[noreturn]] void refuse_schema(const std::string& where, const Parts&... parts) {
  fail_value("json_schema", where, ": ", parts...);
}

template <class... Parts>
void require_schema(bool condition, const std::string& where, const Parts&... parts) {
  if (!condition) {
    refuse_schema(where, parts...);
  }
}

// Returns a function's result. Its Errors get the location and `what`, the keyword that needs so
// much work: "pattern".
template <class Compute>
auto within_limits(const std::string& where, const std::string& what, const Compute& compute) {
  try {
    return compute();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("json_schema: ")) {
      throw;
    }
    refuse_schema(where, what, ": ", error.what());
  }
}

// Returns whether a keyword does not restrict values: descriptions, definitions and, as the
// standard says, unknown keywords.
bool is_annotation(std::string_view keyword);

// Kind of a keyword's value: a schema, a list or an object of schemas, one of these, or none.
enum class Subschemas { none, one, list, one_or_list, members };
Subschemas subschemas_of(std::string_view keyword);

// Returns the types that `type` names; all types if it is missing.
std::vector<std::string> types_of(const Json& schema, const std::string& where);

// Returns the types that the keywords of a schema are about; none for a schema without keywords.
std::vector<std::string> types_of_keywords(const Json& schema);

// Returns whether a value has the type "integer", "number", "string", ...
bool has_type(const Json& value, std::string_view type);

// Returns the values of `const` or `enum`; empty: neither is given.
std::vector<Json> listed_values(const Json& schema, const std::string& where);

// Returns a text that is equal for equal values: 1 and 1.0 are equal, and the order of members does
// not matter.
std::string comparable(const Json& value);

// Returns the values of both lists, each once, in the order of `a`.
std::vector<Json> common_values(const std::vector<Json>& a, const std::vector<Json>& b);

// Returns a keyword's value, a number from 0.
std::size_t count_of(const Json& schema, std::string_view keyword, std::size_t fallback,
                     const std::string& where);

}  // namespace headlight
