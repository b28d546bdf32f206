#pragma once

#include <optional>
#include <string>

#include "generate/grammar/text_language.h"
#include "generate/json_schema/schema_cases.h"

namespace headlight {

// Counts of characters and items. A larger maximum acts as this one.
constexpr std::size_t kMaxCount = 10'000;

// Minimum and maximum of a number of characters, items or members.
struct CountLimits {
  std::size_t least = 0;
  std::size_t most = TextLanguage::kNoMaximum;
};

// Returns the nodes' largest minimum and smallest maximum: "min" or "max" before `unit`.
CountLimits count_limits(const SchemaCase& nodes, const std::string& unit);

// Returns the texts of strings that satisfy all nodes; nothing if only their lengths are limited.
std::optional<TextLanguage> string_language(SchemaDocument& document, const SchemaCase& nodes);

// Returns texts that have a format of the standard ("date", "email", "uri", ...): the forms that
// all validators accept. Returns nothing for an unknown format, which does not restrict texts.
std::optional<TextLanguage> format_language(std::string_view format);

// Returns the strings that satisfy all parts, as far as a grammar can express them.
TextLanguage key_language(SchemaDocument& document, const SchemaParts& parts);

// Returns the listed values ("enum", "const") that satisfy all nodes; nothing if none are listed.
std::optional<std::vector<Json>> listed_values(SchemaDocument& document, const SchemaCase& nodes);

}  // namespace headlight
