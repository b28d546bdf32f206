#include "generate/grammar/schema_merge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/printable.h"
#include "base/read_number.h"
#include "generate/grammar/schema_keywords.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxSchemaWork = 300'000;
constexpr std::size_t kBytesOfWork = 64;
constexpr int kMaxDepth = 64;
constexpr int kMaxDisjointDepth = 4;

// Returns the work of reading or copying a value.
std::size_t work_of(const Json& value) {
  std::size_t work = 1;
  if (value.is_string()) {
    work += value.text().size() / kBytesOfWork;
  } else if (value.is_array()) {
    for (const Json& element : value) {
      work += work_of(element);
    }
  } else if (value.is_object()) {
    for (const JsonMember& member : value.members()) {
      work += work_of(member.value) + member.key.size() / kBytesOfWork;
    }
  }
  return work;
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

// Appends a text that is equal for equal values: 1 and 1.0 are equal, and the order of members does
// not matter.
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

// Sets of these texts replace comparisons of all pairs.
std::string comparable(const Json& value) {
  std::string text;
  append_comparable(value, text);
  return text;
}

std::set<std::string> comparable_values(const Json& values) {
  std::set<std::string> all;
  for (const Json& value : values) {
    all.insert(comparable(value));
  }
  return all;
}

Json list_of(const Json& value) { return value.is_array() ? value : Json::array({value}); }

// Returns the values of both lists, each once, in the order of `a`.
Json common_values(const Json& a, const Json& b) {
  std::set<std::string> others = comparable_values(list_of(b));
  Json common = Json::array();
  for (const Json& value : list_of(a)) {
    if (others.erase(comparable(value)) > 0) {
      common.push_back(value);
    }
  }
  return common;
}

// Returns the types of both lists. Integers are numbers.
Json common_types(const Json& a, const Json& b) {
  const auto has_integer_of = [](const Json& types, const Json& others) {
    const auto has = [](const Json& all, const char* name) {
      return std::find(all.begin(), all.end(), Json(name)) != all.end();
    };
    return has(types, "integer") && !has(types, "number") && has(others, "number") &&
           !has(others, "integer");
  };
  const Json left = list_of(a);
  const Json right = list_of(b);
  Json common = common_values(left, right);
  if (has_integer_of(left, right) || has_integer_of(right, left)) {
    common.push_back("integer");
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

void SchemaRoot::spend(std::size_t work, const std::string& place) {
  budget_.spend(work);
  spent_ += work;
  require_schema(spent_ <= kMaxSchemaWork, place, "the schema is too large or nested too deeply");
}

void SchemaRoot::spend_on(const Json& value, const std::string& place) {
  spend(work_of(value), place);
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
  if (schema.is_object()) {
    check_keywords(schema, place);
  }
  for (const char* keyword : {"$ref", "allOf"}) {
    while (const Json* value = schema.find(keyword)) {
      const bool is_list = std::string_view(keyword) == "allOf";
      const Json parts = is_list ? *value : Json::array({target(*value, place)});
      require_schema(parts.is_array(), place, "allOf: expected a list of schemas");
      spend_on(schema, place);
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
  spend(work_of(a) + work_of(b), place);
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
    all[key] =
        key == "type" ? common_types(*known, member.value) : common_values(*known, member.value);
    require_schema(!all[key].empty(), place, key, ": no value satisfies all schemas");
  } else if (key == "required" && known->is_array() && member.value.is_array()) {
    for (const Json& name : member.value) {
      all[key].push_back(name);
    }
  } else if (key == "properties" && known->is_object() && member.value.is_object()) {
    all[key] = merged_properties(*known, member.value, place);
  } else if (key.starts_with("min") && known->is_number() && member.value.is_number()) {
    all[key] = known->number() < member.value.number() ? member.value : *known;
  } else if (key.starts_with("max") && known->is_number() && member.value.is_number()) {
    all[key] = known->number() > member.value.number() ? member.value : *known;
  } else {
    require_schema(*known == member.value, place, "the keyword ", in_quotes(key),
                   " of two schemas cannot be combined");
  }
}

Json SchemaRoot::merged_properties(const Json& a, const Json& b, const std::string& place) {
  Json all = a;
  for (const JsonMember& property : b.members()) {
    const Json* same = a.find(property.key);
    Json both = same == nullptr ? property.value : merged(*same, property.value, place);
    all[property.key] = std::move(both);
  }
  return all;
}

bool SchemaRoot::are_disjoint(const Json& a, const Json& b, const std::string& place) {
  spend(work_of(a) + work_of(b), place);
  if (depth_ > kMaxDisjointDepth || !a.is_object() || !b.is_object()) {
    return a == Json(false) || b == Json(false);
  }
  const Json left = expanded(a, place);
  const Json right = expanded(b, place);
  const std::vector<Json> values = listed_values(left, place);
  const std::vector<Json> others = listed_values(right, place);
  if (!values.empty() && !others.empty()) {
    return common_values(Json(values), Json(others)).empty();
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
