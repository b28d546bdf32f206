#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "generate/grammar/regular_expression.h"

namespace headlight {

// A schema within a document, or one that was made from its parts.
struct SchemaPart {
  const Json* schema = nullptr;
  std::size_t base = 0;     // number of the address to which its references are relative
  std::string where = {};   // for messages: "#/properties/name"
  bool is_negated = false;  // its values are those that do not satisfy the schema
};
using SchemaParts = std::vector<SchemaPart>;  // all must hold

// The schema that any value satisfies.
const Json& any_value();

// Finds the schemas to which references of a JSON schema lead. Its work is limited: throws Error
// for a schema that needs too much.
class SchemaDocument {
 public:
  // Also spends the work of the `budget`. Schemas within the document may have addresses of their
  // own ("$id", "$anchor").
  explicit SchemaDocument(const Json& root, WorkBudget budget = {});

  // Counts work: values that are read, compared or copied, and 64 bytes of text.
  void spend(std::size_t work, const std::string& where);
  // Returns the schema at a JSON pointer within the document, "#/$defs/NAME".
  SchemaPart at(const std::string& pointer, const std::string& where);
  // Returns the schema to which a part's "$ref" or other keyword leads.
  SchemaPart target(const SchemaPart& part, const std::string& keyword);
  // Returns a schema within a part's schema; `inner`: the suffix of its location.
  SchemaPart within(const SchemaPart& part, const Json& schema, const std::string& inner);
  // Returns a part for a schema that was made from another's parts, and keeps that schema.
  SchemaPart made(Json schema, const SchemaPart& from);
  // Returns the texts of a "pattern", which are found once. Throws Error for one that no grammar
  // can express.
  const TextLanguage& pattern(const Json& pattern, PatternMatch match, const std::string& where);
  // Returns the texts of a "format", which are found once; null: it is an annotation.
  const TextLanguage* format(const Json& format, const std::string& where);

 private:
  void add_addresses(const SchemaPart& part);
  std::size_t base_of(const Json& schema, std::size_t outer);
  SchemaPart descended(SchemaPart from, std::string_view pointer, const std::string& shown,
                       const std::string& where);

  const Json* root_;
  WorkBudget budget_;
  std::size_t spent_ = 0;
  std::string draft_;  // the address in the root's "$schema"
  bool is_old_draft_;  // up to draft 7
  const char* id_keyword_;
  std::vector<std::string> bases_{""};
  std::map<std::string, std::size_t> base_numbers_{{"", 0}};
  std::map<std::string, SchemaPart> addresses_;       // without '#' or with an anchor
  std::map<std::string, std::size_t> dynamic_names_;  // how many schemas have a "$dynamicAnchor"
  std::map<std::string, const Json*> made_;           // by their text
  std::deque<Json> kept_;
  std::map<std::pair<std::string, PatternMatch>, TextLanguage> patterns_;
  std::map<std::string, std::optional<TextLanguage>> formats_;
};

}  // namespace headlight
