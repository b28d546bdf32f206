#pragma once

#include <string>

#include "base/json.h"

namespace headlight {

// Resolves the references of a JSON schema and combines schemas. Its work is limited: throws Error
// for a schema that needs too much.
class SchemaRoot {
 public:
  explicit SchemaRoot(const Json& root) : root_(&root) {}

  // Counts work: values that are read or copied.
  void spend(std::size_t values, const std::string& place);
  // Returns the schema at a JSON pointer within this one, "#/$defs/NAME".
  const Json& target(const Json& reference, const std::string& place) const;
  // Returns a schema for the values that satisfy both. Throws Error for keywords that cannot be
  // combined.
  Json merged(Json a, Json b, const std::string& place);
  // Returns the schema merged with the schemas that its `$ref` and `allOf` name.
  Json expanded(Json schema, const std::string& place);
  // Returns whether it is certain that no value satisfies both schemas.
  bool are_disjoint(const Json& a, const Json& b, const std::string& place);

 private:
  void merge_member(Json& all, const JsonMember& member, const std::string& place);
  bool have_disjoint_property(const Json& a, const Json& b, const std::string& place);

  const Json* root_;
  std::size_t spent_ = 0;
  int depth_ = 0;  // nested merges and comparisons
};

}  // namespace headlight
