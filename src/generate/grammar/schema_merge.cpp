#include "generate/grammar/schema_merge.h"

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "base/read_number.h"
#include "generate/grammar/schema_keywords.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxValues = 300'000;
constexpr int kMaxDepth = 64;
constexpr int kMaxDisjointDepth = 4;

// Returns the number of values in a JSON value.
std::size_t values_in(const Json& value) {
  std::size_t count = 1;
  if (value.is_array()) {
    for (const Json& element : value) {
      count += values_in(element);
    }
  } else if (value.is_object()) {
    for (const JsonMember& member : value.members()) {
      count += values_in(member.value);
    }
  }
  return count;
}

// Returns an object without one of its members.
Json without(const Json& object, std::string_view key) {
  Json rest = Json::object();
  for (const JsonMember& member : object.members()) {
    if (member.key != key) {
      rest.add(member.key, member.value);
    }
  }
  return rest;
}

// Returns a part of a JSON pointer with "~1" and "~0" replaced.
std::string pointer_part(std::string_view part) {
  std::string key;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::string_view two = part.substr(i, 2);
    key += two == "~1" ? '/' : two == "~0" ? '~' : part[i];
    i += two == "~1" || two == "~0" ? 1 : 0;
  }
  return key;
}

const Json* child_of(const Json& value, const std::string& key) {
  if (value.is_array()) {
    const auto place = read_number<std::size_t>(key);
    return place && *place < value.size() ? &value[*place] : nullptr;
  }
  return value.find(key);
}

// Returns the values of both lists. With `are_types`, integers are numbers.
Json common_values(const Json& a, const Json& b, bool are_types) {
  const auto list_of = [](const Json& value) {
    return value.is_array() ? value.list() : Json::List{value};
  };
  Json common = Json::array();
  for (const Json& left : list_of(a)) {
    for (const Json& right : list_of(b)) {
      const bool is_integer = left == Json("integer") || right == Json("integer");
      const bool is_number = left == Json("number") || right == Json("number");
      if (left == right || (are_types && is_integer && is_number)) {
        common.push_back(left == right ? left : Json("integer"));
      }
    }
  }
  return common;
}

// Refuses to add properties to a schema that restricts additional ones, and first items to a schema
// that restricts all items.
void check_additional(const Json& closed, const Json& other, const std::string& place) {
  require_schema(
      !closed.contains("items") || closed.contains("prefixItems") || !other.contains("prefixItems"),
      place, "items of one schema cannot be combined with prefixItems of another");
  const Json* properties = other.find("properties");
  if (!closed.contains("additionalProperties") || properties == nullptr) {
    return;
  }
  for (const JsonMember& property : properties->members()) {
    const Json* listed = closed.find("properties");
    require_schema(listed != nullptr && listed->contains(property.key), place,
                   "additionalProperties of one schema cannot be combined with the property ",
                   in_quotes(property.key), " of another");
  }
}

const Json* property_of(const Json& schema, const std::string& name) {
  const Json* properties = schema.find("properties");
  return properties != nullptr ? properties->find(name) : nullptr;
}

bool may_be(const Json& schema, std::string_view type, const std::string& place) {
  const std::vector<Json> values = listed_values(schema, place);
  if (!values.empty()) {
    return std::any_of(values.begin(), values.end(),
                       [&](const Json& value) { return has_type(value, type); });
  }
  const std::vector<std::string> types = types_of(schema, place);
  return std::any_of(types.begin(), types.end(), [&](const std::string& name) {
    return name == type || (name == "integer" && type == "number");
  });
}

}  // namespace

void SchemaRoot::spend(std::size_t values, const std::string& place) {
  spent_ += values;
  require_schema(spent_ <= kMaxValues, place, "the schema is too large or nested too deeply");
}

const Json& SchemaRoot::target(const Json& reference, const std::string& place) const {
  require_schema(reference.is_string(), place, "$ref: expected a text");
  std::string_view rest = reference.text();
  require_schema(rest.starts_with('#'), place, "$ref: expected a place in the schema that begins ",
                 "with '#', got ", in_quotes(rest));
  rest.remove_prefix(1);
  const Json* found = root_;
  while (found != nullptr && rest.starts_with('/')) {
    const std::size_t end = std::min(rest.find('/', 1), rest.size());
    found = child_of(*found, pointer_part(rest.substr(1, end - 1)));
    rest.remove_prefix(end);
  }
  require_schema(found != nullptr && rest.empty(), place, "$ref: the schema has no ",
                 in_quotes(reference.text()));
  return *found;
}

Json SchemaRoot::expanded(Json schema, const std::string& place) {
  require_schema(++depth_ <= kMaxDepth, place, "schemas are combined too deeply");
  for (const char* keyword : {"$ref", "allOf"}) {
    while (const Json* value = schema.find(keyword)) {
      const bool is_list = std::string_view(keyword) == "allOf";
      const Json parts = is_list ? *value : Json::array({target(*value, place)});
      require_schema(parts.is_array(), place, "allOf: expected a list of schemas");
      schema = without(schema, keyword);
      for (const Json& part : parts) {
        schema = merged(std::move(schema), part, place);
      }
    }
  }
  --depth_;
  return schema;
}

Json SchemaRoot::merged(Json a, Json b, const std::string& place) {
  spend(values_in(a) + values_in(b), place);
  a = expanded(std::move(a), place);
  b = expanded(std::move(b), place);
  if (a.is_boolean() || b.is_boolean()) {
    return a == Json(true) || b == Json(false) ? b : a;
  }
  require_schema(a.is_object() && b.is_object(), place, "expected a schema");
  check_additional(a, b, place);
  check_additional(b, a, place);
  for (const JsonMember& member : b.members()) {
    if (!is_annotation(member.key)) {
      merge_member(a, member, place);
    }
  }
  return a;
}

void SchemaRoot::merge_member(Json& all, const JsonMember& member, const std::string& place) {
  const std::string& key = member.key;
  const Json* known = all.find(key);
  if (known == nullptr) {
    all.add(key, member.value);
  } else if (key == "type" || key == "enum") {
    all[key] = common_values(*known, member.value, key == "type");
    require_schema(!all[key].empty(), place, key, ": no value satisfies all schemas");
  } else if (key == "required" && known->is_array() && member.value.is_array()) {
    for (const Json& name : member.value) {
      all[key].push_back(name);
    }
  } else if (key == "properties" && known->is_object() && member.value.is_object()) {
    Json& properties = all[key];
    for (const JsonMember& property : member.value.members()) {
      const Json* same = properties.find(property.key);
      Json both = same == nullptr ? property.value : merged(*same, property.value, place);
      properties[property.key] = std::move(both);
    }
  } else if (key.starts_with("min") && known->is_number() && member.value.is_number()) {
    all[key] = known->number() < member.value.number() ? member.value : *known;
  } else if (key.starts_with("max") && known->is_number() && member.value.is_number()) {
    all[key] = known->number() > member.value.number() ? member.value : *known;
  } else {
    require_schema(*known == member.value, place, "the keyword ", in_quotes(key),
                   " of two schemas cannot be combined");
  }
}

bool SchemaRoot::are_disjoint(const Json& a, const Json& b, const std::string& place) {
  spend(values_in(a) + values_in(b), place);
  if (depth_ > kMaxDisjointDepth || !a.is_object() || !b.is_object()) {
    return a == Json(false) || b == Json(false);
  }
  const Json left = expanded(a, place);
  const Json right = expanded(b, place);
  const std::vector<Json> values = listed_values(left, place);
  const std::vector<Json> others = listed_values(right, place);
  if (!values.empty() && !others.empty()) {
    return std::none_of(values.begin(), values.end(), [&](const Json& value) {
      return std::find(others.begin(), others.end(), value) != others.end();
    });
  }
  std::vector<std::string> common;
  for (const char* type : {"object", "array", "string", "number", "boolean", "null"}) {
    if (may_be(left, type, place) && may_be(right, type, place)) {
      common.emplace_back(type);
    }
  }
  return common.empty() || (common == std::vector<std::string>{"object"} &&
                            have_disjoint_property(left, right, place));
}

// Returns whether a property that one schema requires is different in both.
bool SchemaRoot::have_disjoint_property(const Json& a, const Json& b, const std::string& place) {
  for (const Json* schema : {&a, &b}) {
    const Json required = schema->value("required", Json::array());
    for (const Json& name : required.is_array() ? required : Json::array()) {
      const Json* left = name.is_string() ? property_of(a, name.text()) : nullptr;
      const Json* right = name.is_string() ? property_of(b, name.text()) : nullptr;
      ++depth_;
      const bool found = left != nullptr && right != nullptr && are_disjoint(*left, *right, place);
      --depth_;
      if (found) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace headlight
