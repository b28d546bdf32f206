#include <algorithm>
#include <string>

#include "generate/json_schema/schema_cases.h"
#include "generate/json_schema/schema_keywords.h"

namespace headlight {
namespace {

constexpr int kMaxOverlapDepth = 4;
constexpr std::size_t kMaxOverlapParts = 64;

// Adds a schema and the schemas that its "$ref" and "allOf" name. Others may be left out: they only
// make the sets of values smaller.
void add_parts(SchemaDocument& document, const SchemaPart& part, SchemaParts& all) {
  if (!part.schema->is_object() || all.size() >= kMaxOverlapParts) {
    return;
  }
  all.push_back(part);
  document.spend(1 + part.schema->size(), part.where);
  if (part.schema->contains("$ref")) {
    add_parts(document, document.target(part, "$ref"), all);
  }
  const Json* list = part.schema->find("allOf");
  for (std::size_t i = 0; list != nullptr && list->is_array() && i < list->size(); ++i) {
    add_parts(document, document.within(part, (*list)[i], ""), all);
  }
}

bool may_be(const SchemaParts& parts, std::string_view type) {
  return std::all_of(parts.begin(), parts.end(), [&](const SchemaPart& part) {
    const std::vector<Json> values = listed_values(*part.schema, part.where);
    if (!values.empty() && std::none_of(values.begin(), values.end(),
                                        [&](const Json& one) { return has_type(one, type); })) {
      return false;
    }
    const std::vector<std::string> types = types_of(*part.schema, part.where);
    return std::any_of(types.begin(), types.end(), [&](const std::string& name) {
      return name == type || (name == "integer" && type == "number");
    });
  });
}

std::vector<Json> values_of(const SchemaParts& parts) {
  for (const SchemaPart& part : parts) {
    const std::vector<Json> values = listed_values(*part.schema, part.where);
    if (!values.empty()) {
      return values;
    }
  }
  return {};
}

SchemaParts property_of(SchemaDocument& document, const SchemaParts& parts,
                        const std::string& name) {
  SchemaParts all;
  for (const SchemaPart& part : parts) {
    const Json* properties = part.schema->find("properties");
    if (const Json* found = properties == nullptr ? nullptr : properties->find(name)) {
      add_parts(document, document.within(part, *found, ""), all);
    }
  }
  return all;
}

bool disjoint(SchemaDocument& document, const SchemaParts& a, const SchemaParts& b, int depth);

// Returns whether a property that one schema requires is different in both.
bool have_disjoint_property(SchemaDocument& document, const SchemaParts& a, const SchemaParts& b,
                            int depth) {
  for (const SchemaParts* side : {&a, &b}) {
    for (const SchemaPart& part : *side) {
      const Json required = part.schema->value("required", Json::array());
      for (const Json& name : required.is_array() ? required : Json::array()) {
        if (name.is_string() && disjoint(document, property_of(document, a, name.text()),
                                         property_of(document, b, name.text()), depth + 1)) {
          return true;
        }
      }
    }
  }
  return false;
}

bool disjoint(SchemaDocument& document, const SchemaParts& a, const SchemaParts& b, int depth) {
  if (depth > kMaxOverlapDepth || a.empty() || b.empty()) {
    return false;
  }
  document.spend(a.size() + b.size(), a[0].where);
  const std::vector<Json> values = values_of(a);
  const std::vector<Json> others = values_of(b);
  if (!values.empty() && !others.empty()) {
    document.spend(values.size() + others.size(), a[0].where);
    return common_values(values, others).empty();
  }
  std::vector<std::string> common;
  for (const char* type : {"object", "array", "string", "number", "boolean", "null"}) {
    if (may_be(a, type) && may_be(b, type)) {
      common.emplace_back(type);
    }
  }
  return common.empty() || (common == std::vector<std::string>{"object"} &&
                            have_disjoint_property(document, a, b, depth));
}

}  // namespace

bool are_disjoint(SchemaDocument& document, const SchemaPart& a, const SchemaPart& b) {
  if (*a.schema == Json(false) || *b.schema == Json(false)) {
    return true;
  }
  SchemaParts left;
  SchemaParts right;
  add_parts(document, a, left);
  add_parts(document, b, right);
  return disjoint(document, left, right, 0);
}

}  // namespace headlight
