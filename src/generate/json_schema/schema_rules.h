#pragma once

#include <map>
#include <string>
#include <vector>

#include "generate/grammar/text_language.h"
#include "generate/json_schema/schema_document.h"

namespace headlight {

// Writes the rules of a grammar. Equal rules are written once.
class SchemaRules {
 public:
  // A rule that no text matches.
  static constexpr const char* kNoText = "none";

  explicit SchemaRules(SchemaDocument& document) : document_(&document) {}

  SchemaDocument& document() { return *document_; }

  void append(const std::string& name, const std::string& body);
  void append(const std::string& rules);
  // Returns the name of a rule with this body.
  std::string rule(const std::string& body);
  // Returns a name that no rule has yet.
  std::string new_name(const std::string& kind);
  // Returns the name of a rule for the values that satisfy all parts; next_values() asks for it.
  std::string values(const SchemaParts& parts);
  // Returns an expression for the JSON strings, in quotes, with these contents, or for the numbers.
  std::string strings(const TextLanguage& contents);
  std::string numbers(const TextLanguage& texts);
  // Remembers why a rule has no text, and returns kNoText.
  std::string no_text(const std::string& where, const std::string& reason);
  const std::pair<std::string, std::string>& reason() const { return reason_; }

  // Moves to the next values whose rule must be written; returns false when all are written.
  bool next_values(std::string& name, SchemaParts& parts);
  const std::string& text() const { return text_; }

 private:
  std::string language(const TextLanguage& texts, const CharacterSpelling& spelling);

  SchemaDocument* document_;
  std::string text_;
  std::map<std::string, std::string> rules_;      // names by body
  std::map<std::string, std::string> languages_;  // names by the rules of all states
  std::map<std::vector<std::pair<const Json*, bool>>, std::string> values_;
  std::vector<std::pair<std::string, SchemaParts>> pending_;
  std::pair<std::string, std::string> reason_;  // location and reason of the first no_text()
  std::size_t names_ = 0;
};

}  // namespace headlight
