#include "generate/grammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/printable.h"

namespace headlight {
namespace {

struct SchemaKeyword {
  std::string_view name;
  std::string_view type;  // of the values that it restricts; "": of any type
};

constexpr auto kKeywords = std::to_array<SchemaKeyword>({{"type", ""},
                                                         {"enum", ""},
                                                         {"const", ""},
                                                         {"anyOf", ""},
                                                         {"oneOf", ""},
                                                         {"allOf", ""},
                                                         {"$ref", ""},
                                                         {"properties", "object"},
                                                         {"required", "object"},
                                                         {"additionalProperties", "object"},
                                                         {"items", "array"},
                                                         {"prefixItems", "array"},
                                                         {"minItems", "array"},
                                                         {"maxItems", "array"},
                                                         {"minLength", "string"},
                                                         {"maxLength", "string"},
                                                         {"format", "string"},
                                                         {"minimum", "number"},
                                                         {"maximum", "number"},
                                                         {"exclusiveMinimum", "number"},
                                                         {"exclusiveMaximum", "number"}});

constexpr std::array<std::string_view, 13> kAnnotations{
    "title", "description", "default",    "examples", "$schema",   "$id",          "$comment",
    "$defs", "definitions", "deprecated", "readOnly", "writeOnly", "discriminator"};

constexpr std::array<std::string_view, 7> kTypes{"object",  "array",   "string", "number",
                                                 "integer", "boolean", "null"};
// As kTypes, without integers, which are numbers.
constexpr std::array<std::string_view, 6> kDistinctTypes{"object", "array",   "string",
                                                         "number", "boolean", "null"};

}  // namespace

bool is_annotation(std::string_view keyword) {
  return std::find(kAnnotations.begin(), kAnnotations.end(), keyword) != kAnnotations.end();
}

void check_keywords(const Json& schema, const std::string& place) {
  for (const JsonMember& member : schema.members()) {
    const auto found =
        std::find_if(kKeywords.begin(), kKeywords.end(),
                     [&](const SchemaKeyword& keyword) { return keyword.name == member.key; });
    require_schema(found != kKeywords.end() || is_annotation(member.key), place, "the keyword ",
                   in_quotes(member.key), " is not supported");
  }
}

std::vector<std::string> types_of(const Json& schema, const std::string& place) {
  const Json* type = schema.find("type");
  if (type == nullptr) {
    return {kDistinctTypes.begin(), kDistinctTypes.end()};
  }
  std::vector<std::string> types;
  for (const Json& name : type->is_array() ? *type : Json::array({*type})) {
    const bool is_type =
        name.is_string() && std::find(kTypes.begin(), kTypes.end(), name.text()) != kTypes.end();
    require_schema(is_type, place, "type: expected object, array, string, number, integer, ",
                   "boolean or null, got ", in_quotes(name.dump()));
    if (std::find(types.begin(), types.end(), name.text()) == types.end()) {
      types.push_back(name.text());
    }
  }
  require_schema(!types.empty(), place, "type: expected at least one type");
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
  return types.empty() ? std::vector<std::string>(kDistinctTypes.begin(), kDistinctTypes.end())
                       : types;
}

bool has_type(const Json& value, std::string_view type) {
  if (type == "integer") {
    return value.is_number() && value.number() == std::floor(value.number());
  }
  return value.type_name() == type;
}

std::vector<Json> listed_values(const Json& schema, const std::string& place) {
  std::vector<Json> values;
  if (const Json* list = schema.find("enum")) {
    require_schema(list->is_array() && !list->empty(), place, "enum: expected a list of values");
    values = list->list();
  }
  if (const Json* value = schema.find("const")) {
    const bool is_listed =
        values.empty() || std::find(values.begin(), values.end(), *value) != values.end();
    require_schema(is_listed, place, "const: expected one of the values of enum");
    values = {*value};
  }
  return values;
}

std::size_t count_of(const Json& schema, std::string_view keyword, std::size_t otherwise,
                     const std::string& place) {
  const Json* value = schema.find(keyword);
  if (value == nullptr) {
    return otherwise;
  }
  require_schema(value->is_natural(), place, keyword, ": expected a whole number from 0, got ",
                 in_quotes(value->dump()));
  return static_cast<std::size_t>(value->natural());
}

}  // namespace headlight
