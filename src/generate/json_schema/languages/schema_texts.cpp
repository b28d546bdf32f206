#include "generate/json_schema/languages/schema_texts.h"

#include <algorithm>

#include "generate/json_schema/schema_keywords.h"
#include "generate/json_schema/schema_values.h"

namespace headlight {
namespace {

using Combined = TextLanguage::Combined;

TextLanguage of_length(const CountLimits& limits) {
  return TextLanguage::of_length(limits.least, limits.most);
}

}  // namespace

CountLimits count_limits(const SchemaCase& nodes, const std::string& unit) {
  const CountLimits limits{.least = largest_count(nodes, "min" + unit),
                           .most = smallest_count(nodes, "max" + unit, TextLanguage::kNoMaximum)};
  const std::string& where = nodes.empty() ? "#" : nodes[0].part.where;
  require_schema(limits.least <= limits.most, where, "max", unit, ": expected at least min", unit);
  require_schema(limits.least <= kMaxCount, where, "min", unit, ": expected at most ", kMaxCount);
  return limits;
}

std::optional<TextLanguage> string_language(SchemaDocument& document, const SchemaCase& nodes) {
  std::optional<TextLanguage> all;
  std::string where;
  const auto add = [&](const TextLanguage& one) {
    all = within_limits(where, "pattern, format and lengths", [&] {
      return all ? TextLanguage::combined(*all, one, Combined::in_both) : one;
    });
    document.spend(all->states().size(), where);
  };
  for (const auto& [node, pattern] : uses_of(nodes, "pattern")) {
    where = node->part.where;
    add(document.pattern(*pattern, PatternMatch::surely, where));
  }
  for (const auto& [node, format] : uses_of(nodes, "format")) {
    where = node->part.where;
    if (const TextLanguage* language = document.format(*format, where)) {
      add(*language);
    }
  }
  const CountLimits limits = count_limits(nodes, "Length");
  const bool is_limited = limits.least > 0 || limits.most != TextLanguage::kNoMaximum;
  if (all && is_limited) {
    require_schema(limits.most == TextLanguage::kNoMaximum || limits.most <= kMaxCount, where,
                   "maxLength: expected at most ", kMaxCount, " with a pattern or format");
    add(of_length(limits));
  }
  return all;
}

TextLanguage key_language(SchemaDocument& document, const SchemaParts& parts) {
  TextLanguage all({});
  for (const SchemaCase& nodes : schema_cases(document, parts)) {
    const std::vector<std::string> types = types_of(nodes);
    const bool is_typed = !uses_of(nodes, "type").empty();
    if (is_typed && std::find(types.begin(), types.end(), "string") == types.end()) {
      continue;
    }
    std::optional<TextLanguage> one;
    if (const auto values = listed_values(document, nodes)) {
      std::vector<std::string> words;
      for (const Json& value : *values) {
        if (value.is_string()) {
          words.push_back(value.text());
        }
      }
      one = TextLanguage::of_words(std::move(words));
    } else {
      one = string_language(document, nodes);
    }
    all = TextLanguage::combined(all, one ? *one : of_length(count_limits(nodes, "Length")),
                                 Combined::in_either);
  }
  return all;
}

std::optional<std::vector<Json>> listed_values(SchemaDocument& document, const SchemaCase& nodes) {
  std::optional<std::vector<Json>> values;
  for (const SchemaNode& node : nodes) {
    const std::vector<Json> listed = listed_values(*node.part.schema, node.part.where);
    if (!listed.empty()) {
      document.spend(listed.size(), node.part.where);
      values = values ? common_values(*values, listed) : listed;
    }
  }
  if (values) {
    std::erase_if(*values, [&](const Json& value) {
      document.spend(1 + value.memory() / 64, nodes[0].part.where);
      return satisfied_beyond_lists(document, value, nodes) != Satisfied::yes;
    });
  }
  return values;
}

}  // namespace headlight
