#pragma once

#include <set>
#include <string>

#include "generate/json_schema/schema_cases.h"

namespace headlight {

// Returns the schemas of the item of an array, by its number, that all nodes ask for.
SchemaParts item_parts(SchemaDocument& document, const SchemaCase& nodes, std::size_t index);

// Returns the number of items whose schemas depend on their index.
std::size_t first_items(const SchemaCase& nodes);

// A name of a member, or all names that match the same patterns.
struct MemberName {
  const std::string* text = nullptr;   // null: none of the names in "properties"
  std::set<std::string> surely = {};   // patterns of "patternProperties" that match
  std::set<std::string> perhaps = {};  // patterns that may match
};

// Returns the schemas of the members with a name that all nodes ask for.
SchemaParts member_parts(SchemaDocument& document, const SchemaCase& nodes, const MemberName& name);
SchemaParts member_parts(SchemaDocument& document, const SchemaCase& nodes,
                         const std::string& name);

}  // namespace headlight
