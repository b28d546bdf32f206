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

// Returns what a function computes. Its Errors get the place and `what` needs so much, such as
// "pattern".
template <class Compute>
auto within_limits(const std::string& place, const std::string& what, const Compute& compute) {
  try {
    return compute();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("json_schema: ")) {
      throw;
    }
    refuse_schema(place, what, ": ", error.what());
  }
}

// Returns whether a keyword does not restrict values: descriptions, definitions and, as the
// standard says, unknown keywords.
bool is_annotation(std::string_view keyword);

// What is the value of a keyword: a schema, a list or an object of schemas, one of these, or none.
enum class Subschemas { none, one, list, one_or_list, members };
Subschemas subschemas_of(std::string_view keyword);

// Returns the types that `type` names; all types if it is missing.
std::vector<std::string> types_of(const Json& schema, const std::string& place);

// Returns the types that the keywords of a schema are about; none for a schema without keywords.
std::vector<std::string> types_of_keywords(const Json& schema);

// Returns whether a value has the type "integer", "number", "string", ...
bool has_type(const Json& value, std::string_view type);

// Returns the values of `const` or `enum`; empty: neither is given.
std::vector<Json> listed_values(const Json& schema, const std::string& place);

// Returns a text that is equal for equal values: 1 and 1.0 are equal, and the order of members does
// not matter.
std::string comparable(const Json& value);

// Returns the values of both lists, each once, in the order of `a`.
std::vector<Json> common_values(const std::vector<Json>& a, const std::vector<Json>& b);

// Returns a keyword's value, a number from 0.
std::size_t count_of(const Json& schema, std::string_view keyword, std::size_t otherwise,
                     const std::string& place);

}  // namespace headlight
