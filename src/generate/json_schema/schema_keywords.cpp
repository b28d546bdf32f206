#include "generate/json_schema/schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/strings/printable.h"

namespace headlight {
namespace {

struct SchemaKeyword {
  std::string_view name;
  std::string_view type = "";  // of the values that it restricts; "": of any type
  Subschemas subschemas = Subschemas::none;
};

constexpr auto kKeywords = std::to_array<SchemaKeyword>({
    {"type"},
    {"enum"},
    {"const"},
    {"$ref"},
    {"$dynamicRef"},
    {"$recursiveRef"},
    {"anyOf", "", Subschemas::list},
    {"oneOf", "", Subschemas::list},
    {"allOf", "", Subschemas::list},
    {"not", "", Subschemas::one},
    {"if", "", Subschemas::one},
    {"then", "", Subschemas::one},
    {"else", "", Subschemas::one},
    {"properties", "object", Subschemas::members},
    {"patternProperties", "object", Subschemas::members},
    {"additionalProperties", "object", Subschemas::one},
    {"unevaluatedProperties", "object", Subschemas::one},
    {"propertyNames", "object", Subschemas::one},
    {"required", "object"},
    {"minProperties", "object"},
    {"maxProperties", "object"},
    {"dependentRequired", "object"},
    {"dependentSchemas", "object", Subschemas::members},
    {"dependencies", "object", Subschemas::members},
    {"items", "array", Subschemas::one_or_list},
    {"prefixItems", "array", Subschemas::list},
    {"additionalItems", "array", Subschemas::one},
    {"unevaluatedItems", "array", Subschemas::one},
    {"contains", "array", Subschemas::one},
    {"minContains", "array"},
    {"maxContains", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"uniqueItems", "array"},
    {"minLength", "string"},
    {"maxLength", "string"},
    {"pattern", "string"},
    {"format", "string"},
    {"minimum", "number"},
    {"maximum", "number"},
    {"exclusiveMinimum", "number"},
    {"exclusiveMaximum", "number"},
    {"multipleOf", "number"},
});
// These hold schemas and restrict nothing.
constexpr std::array<std::string_view, 2> kDefinitions{"$defs", "definitions"};

const SchemaKeyword* keyword_called(std::string_view name) {
  const auto found =
      std::find_if(kKeywords.begin(), kKeywords.end(),
                   [&](const SchemaKeyword& keyword) { return keyword.name == name; });
  return found == kKeywords.end() ? nullptr : &*found;
}

constexpr std::array<std::string_view, 7> kTypes{"object",  "array",   "string", "number",
                                                 "integer", "boolean", "null"};
// As kTypes, without integers, which are numbers.
constexpr std::array<std::string_view, 6> kDistinctTypes{"object", "array",   "string",
                                                         "number", "boolean", "null"};

// Appends the result of comparable().
void append_comparable(const Json& value, std::string& text) {
  if (value.is_array()) {
    text += '[';
    for (const Json& element : value) {
      append_comparable(element, text);
      text += ',';
    }
  } else if (value.is_object()) {
    std::map<std::string_view, const Json*> members;
    for (const JsonMember& member : value.members()) {
      members.emplace(member.key, &member.value);
    }
    text += '{';
    for (const auto& [key, one] : members) {
      text += Json(key).dump();
      append_comparable(*one, text);
    }
  } else {
    constexpr double kLimit = 0x1p63;
    const double number = value.is_number() ? value.number() : 0.5;
    const bool is_whole = number >= -kLimit && number < kLimit && number == std::floor(number);
    const bool is_other_form = is_whole && !value.is_integer() && !value.is_natural();
    text += is_other_form ? std::to_string(static_cast<Index>(number)) : value.dump();
  }
}

}  // namespace

bool is_annotation(std::string_view keyword) { return keyword_called(keyword) == nullptr; }

Subschemas subschemas_of(std::string_view keyword) {
  const bool defines =
      std::find(kDefinitions.begin(), kDefinitions.end(), keyword) != kDefinitions.end();
  const SchemaKeyword* known = keyword_called(keyword);
  return defines ? Subschemas::members : known != nullptr ? known->subschemas : Subschemas::none;
}

std::vector<std::string> types_of(const Json& schema, const std::string& where) {
  const Json* type = schema.find("type");
  if (type == nullptr) {
    return {kDistinctTypes.begin(), kDistinctTypes.end()};
  }
  std::vector<std::string> types;
  for (const Json& name : type->is_array() ? *type : Json::array({*type})) {
    const bool is_type =
        name.is_string() && std::find(kTypes.begin(), kTypes.end(), name.text()) != kTypes.end();
    require_schema(is_type, where, "type: expected object, array, string, number, integer, ",
                   "boolean or null, got ", in_quotes(name.dump()));
    if (std::find(types.begin(), types.end(), name.text()) == types.end()) {
      types.push_back(name.text());
    }
  }
  require_schema(!types.empty(), where, "type: expected at least one type");
  return types;
}

std::vector<std::string> types_of_keywords(const Json& schema) {
  std::vector<std::string> types;
  for (const SchemaKeyword& keyword : kKeywords) {
    const std::string type(keyword.type);
    if (!type.empty() && schema.contains(keyword.name) &&
        std::find(types.begin(), types.end(), type) == types.end()) {
      types.push_back(type);
    }
  }
  return types;
}

bool has_type(const Json& value, std::string_view type) {
  if (type == "integer") {
    return value.is_number() && value.number() == std::floor(value.number());
  }
  return value.type_name() == type;
}

std::vector<Json> listed_values(const Json& schema, const std::string& where) {
  std::vector<Json> values;
  if (const Json* list = schema.find("enum")) {
    require_schema(list->is_array() && !list->empty(), where, "enum: expected a list of values");
    values = list->list();
  }
  if (const Json* value = schema.find("const")) {
    const bool is_listed =
        values.empty() || std::find(values.begin(), values.end(), *value) != values.end();
    require_schema(is_listed, where, "const: expected one of the values of enum");
    values = {*value};
  }
  return values;
}

std::string comparable(const Json& value) {
  std::string text;
  append_comparable(value, text);
  return text;
}

std::vector<Json> common_values(const std::vector<Json>& a, const std::vector<Json>& b) {
  std::set<std::string> others;
  for (const Json& value : b) {
    others.insert(comparable(value));
  }
  std::vector<Json> common;
  for (const Json& value : a) {
    if (others.erase(comparable(value)) > 0) {
      common.push_back(value);
    }
  }
  return common;
}

std::size_t count_of(const Json& schema, std::string_view keyword, std::size_t fallback,
                     const std::string& where) {
  const Json* value = schema.find(keyword);
  if (value == nullptr) {
    return fallback;
  }
  const double number = value->is_number() ? value->number() : -1;  // 2.0 is a whole number
  require_schema(number >= 0 && number == std::floor(number), where, keyword,
                 ": expected a whole number from 0, got ", in_quotes(value->dump()));
  return static_cast<std::size_t>(std::min(number, 1e15));
}

}  // namespace headlight
