#pragma once

#include <string>
#include <utility>

#include "base/json.h"

namespace headlight {

// Resolves the references of a JSON schema and combines schemas. Its work is limited: throws Error
// for a schema that needs too much.
class SchemaRoot {
 public:
  // Also spends the work of the `budget`.
  explicit SchemaRoot(const Json& root, WorkBudget budget = {})
      : root_(&root), budget_(std::move(budget)) {}

  // Counts work: values that are read, compared or copied, and 64 bytes of text.
  void spend(std::size_t work, const std::string& place);
  // Counts the work of reading or copying a value once.
  void spend_on(const Json& value, const std::string& place);
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
  Json merged_properties(const Json& a, const Json& b, const std::string& place);
  bool have_disjoint_property(const Json& a, const Json& b, const std::string& place);

  const Json* root_;
  WorkBudget budget_;
  std::size_t spent_ = 0;
  int depth_ = 0;  // nested merges and comparisons
};

}  // namespace headlight
