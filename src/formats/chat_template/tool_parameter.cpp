#include "formats/chat_template/tool_parameter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "generate/json_schema/schema_document.h"
#include "generate/json_schema/schema_keywords.h"

namespace headlight {
namespace {

constexpr int kMostParts = 256;  // a reference may name itself

bool names_type(const Json& schema, std::string_view type) {
  const Json types = schema.value("type", Json());
  const Json values = schema.value("enum", Json::array());
  const auto has = [&](const Json& value) { return has_type(value, type); };
  return types == Json(type) ||
         (types.is_array() && std::find(types.begin(), types.end(), Json(type)) != types.end()) ||
         (values.is_array() && std::any_of(values.begin(), values.end(), has)) ||
         (schema.contains("const") && has(schema["const"]));
}

// Visits at most `left` parts.
const Json* part_within(SchemaDocument& document, const SchemaPart& part, std::string_view type,
                        int& left) {
  if (--left < 0) {
    return nullptr;
  }
  const Json& schema = *part.schema;
  if (schema.contains("$ref")) {
    return part_within(document, document.target(part, "$ref"), type, left);
  }
  for (const char* keyword : {"anyOf", "oneOf"}) {
    const Json* choices = schema.find(keyword);
    for (std::size_t i = 0; choices != nullptr && choices->is_array() && i < choices->size(); ++i) {
      const SchemaPart choice = document.within(part, (*choices)[i], "");
      if (const Json* found = part_within(document, choice, type, left)) {
        return found;
      }
    }
  }
  return names_type(schema, type) ? &schema : nullptr;
}

// Templates of this style write the values of earlier calls as Python does.
std::string_view without_python(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kWords{
      {{"True", "true"}, {"False", "false"}, {"None", "null"}}};
  for (const auto& [python, json] : kWords) {
    if (text == python) {
      return json;
    }
  }
  return text;
}

}  // namespace

const Json* schema_part(const Json& schema, const Json& root, std::string_view type) {
  int left = kMostParts;
  try {
    SchemaDocument document(root);
    const SchemaPart outer = document.at("#", "parameters");
    return part_within(document, document.within(outer, schema, ""), type, left);
  } catch (const Error&) {  // a reference to nothing
    return nullptr;
  }
}

Json parameter_value(const Json& parameters, std::string_view name, std::string_view text) {
  const Json properties = parameters.value("properties", Json());
  const Json schema = properties.value(name, Json());
  const std::string_view word = without_python(text);
  const bool is_null = word == "null" && schema_part(schema, parameters, "null") != nullptr;
  if (!is_null && schema_part(schema, parameters, "string") != nullptr) {
    return text;
  }
  return try_parse_json(word).value_or(Json(text));
}

}  // namespace headlight
