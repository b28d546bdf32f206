#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generate/json_schema/schema_document.h"

namespace headlight {

// A schema whose keywords about single types must hold. Its combinations of other schemas ($ref,
// allOf, anyOf, not, if, ...) are resolved: their conditions are in other nodes of the same case.
struct SchemaNode {
  SchemaPart part;               // {} if the source is negated
  const Json* source = nullptr;  // the schema of the document
  int parent = -1;               // the node that names this schema
  bool is_evaluated = true;      // it counts for the unevaluated... keywords of its parents
};

// One of the ways to satisfy schemas: nodes that must all hold.
using SchemaCase = std::vector<SchemaNode>;

// Returns the ways to satisfy all parts; none: no value does, as far as types show.
std::vector<SchemaCase> schema_cases(SchemaDocument& document, const SchemaParts& parts);

// Returns schemas for values that do not satisfy a part: one of the lists must hold. It may leave
// out some of these values. Throws Error that names a keyword if it can express none of them.
std::vector<SchemaParts> negation(SchemaDocument& document, const SchemaPart& part);

// Returns whether it is certain that no value satisfies both schemas.
bool are_disjoint(SchemaDocument& document, const SchemaPart& a, const SchemaPart& b);

// Returns the types that all nodes allow. Without "type", the types that their keywords are about.
std::vector<std::string> types_of(const SchemaCase& nodes);

// Returns the values of a keyword with their nodes.
std::vector<std::pair<const SchemaNode*, const Json*>> uses_of(const SchemaCase& nodes,
                                                               std::string_view keyword);

// Returns the largest "min..." or the smallest "max..." of a keyword.
std::size_t largest_count(const SchemaCase& nodes, std::string_view keyword);
std::size_t smallest_count(const SchemaCase& nodes, std::string_view keyword, std::size_t fallback);

}  // namespace headlight
