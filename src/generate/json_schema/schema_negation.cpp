#include <algorithm>
#include <array>

#include "base/strings/printable.h"
#include "generate/json_schema/schema_cases.h"
#include "generate/json_schema/schema_keywords.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxListedNumbers = 64;

using Branches = std::vector<SchemaParts>;

// Keywords of limits, and the keyword of values beyond the limit, with the limit changed by `step`.
struct OppositeLimit {
  std::string_view keyword;
  std::string_view type;
  const char* opposite;
  int step;
};

constexpr auto kLimits = std::to_array<OppositeLimit>({
    {"minimum", "number", "exclusiveMaximum", 0},
    {"maximum", "number", "exclusiveMinimum", 0},
    {"exclusiveMinimum", "number", "maximum", 0},
    {"exclusiveMaximum", "number", "minimum", 0},
    {"minLength", "string", "maxLength", -1},
    {"maxLength", "string", "minLength", 1},
    {"minItems", "array", "maxItems", -1},
    {"maxItems", "array", "minItems", 1},
    {"minProperties", "object", "maxProperties", -1},
    {"maxProperties", "object", "minProperties", 1},
});

Json not_of(const Json& schema) { return {{"not", schema}}; }

Json without_property(const std::string& name) {
  return {{"type", "object"}, {"propertyNames", not_of({{"const", name}})}};
}

// Returns a regular expression for a text.
std::string escaped_text(const std::string& text) {
  std::string all;
  for (const char c : text) {
    all += std::string_view("\\^$.|?*+()[]{}/").find(c) == std::string_view::npos ? "" : "\\";
    all += c;
  }
  return all;
}

class Negation {
 public:
  Negation(SchemaDocument& document, const SchemaPart& part)
      : document_(document), part_(part), schema_(*part.schema) {
    part_.is_negated = false;
  }

  Branches branches() {
    std::string refused;
    for (const JsonMember& member : schema_.members()) {
      document_.spend(1, part_.where);
      const bool is_expressed =
          is_annotation(member.key) ||
          within_limits(part_.where, member.key, [&] { return add(member.key, member.value); });
      refused = is_expressed || !refused.empty() ? refused : member.key;
    }
    require_schema(!branches_.empty() || refused.empty(), part_.where,
                   "not, if or oneOf: values that do not satisfy ", in_quotes(refused),
                   " cannot be expressed");
    return std::move(branches_);
  }

 private:
  // Adds the values that do not satisfy one keyword. Returns false if it can express none of them.
  bool add(const std::string& keyword, const Json& value) {
    const auto limit = std::find_if(kLimits.begin(), kLimits.end(), [&](const OppositeLimit& one) {
      return one.keyword == keyword;
    });
    if (limit != kLimits.end()) {
      add_beyond(*limit, value);
      return true;
    }
    using Method = bool (Negation::*)(const Json&);
    constexpr auto kMethods = std::to_array<std::pair<std::string_view, Method>>({
        {"type", &Negation::add_types},
        {"enum", &Negation::add_others},
        {"const", &Negation::add_others},
        {"properties", &Negation::add_properties},
        {"required", &Negation::add_required},
        {"dependentRequired", &Negation::add_dependent},
        {"additionalProperties", &Negation::add_additional},
        {"items", &Negation::add_items},
        {"prefixItems", &Negation::add_first_items},
        {"contains", &Negation::add_contains},
        {"pattern", &Negation::add_pattern},
        {"format", &Negation::add_format},
        {"not", &Negation::add_not},
        {"if", &Negation::add_condition},
    });
    const auto method = std::find_if(kMethods.begin(), kMethods.end(),
                                     [&](const auto& one) { return one.first == keyword; });
    if (method != kMethods.end()) {
      return (this->*method->second)(value);
    }
    const bool is_part_of_other = keyword == "then" || keyword == "else" ||
                                  keyword == "minContains" || keyword == "maxContains";
    return is_part_of_other || add_combined(keyword, value);
  }

  void add_schema(Json schema) { branches_.push_back({document_.made(std::move(schema), part_)}); }

  SchemaPart inner(const std::string& keyword, bool is_negated) {
    SchemaPart part = document_.within(part_, schema_[keyword], '/' + keyword);
    part.is_negated = is_negated;
    return part;
  }

  void add_beyond(const OppositeLimit& limit, const Json& value) {
    if (value.is_number() && value.number() + limit.step >= 0) {
      add_schema({{"type", limit.type},
                  {limit.opposite, limit.step == 0 ? value : Json(value.number() + limit.step)}});
    } else if (value.is_number() && limit.step == 0) {
      add_schema({{"type", limit.type}, {limit.opposite, value}});
    }
  }

  bool add_types(const Json&) {
    const std::vector<std::string> given = types_of(schema_, part_.where);
    Json others = Json::array();
    for (const std::string& type : types_of(Json::object(), part_.where)) {
      const bool is_given = std::find(given.begin(), given.end(), type) != given.end();
      const bool may_be_integer =
          type == "number" && std::find(given.begin(), given.end(), "integer") != given.end();
      if (!is_given && !may_be_integer) {
        others.push_back(type);
      }
    }
    if (!others.empty()) {
      add_schema({{"type", others}});
    }
    return true;
  }

  // Adds the values other than the listed ones.
  bool add_others(const Json&) {
    const std::vector<Json> listed = listed_values(schema_, part_.where);
    Json free_types = Json::array();
    for (const std::string& type : types_of(Json::object(), part_.where)) {
      std::vector<Json> values;
      std::copy_if(listed.begin(), listed.end(), std::back_inserter(values),
                   [&](const Json& value) { return has_type(value, type); });
      if (values.empty()) {
        free_types.push_back(type);
      } else {
        add_others_of(type, values);
      }
    }
    if (!free_types.empty()) {
      add_schema({{"type", free_types}});
    }
    return !branches_.empty();
  }

  void add_others_of(const std::string& type, const std::vector<Json>& values) {
    if (type == "string") {
      std::string all;
      for (const Json& value : values) {
        all += (all.empty() ? "" : "|") + escaped_text(value.text());
      }
      add_schema({{"type", type}, {"pattern", "^(?!(?:" + all + ")$)"}});
    } else if (type == "number") {
      add_other_numbers(values);
    } else if (type == "boolean" && values.size() == 1) {
      add_schema({{"const", !values[0].boolean()}});
    } else if (type == "array" || type == "object") {
      std::size_t largest = 0;
      for (const Json& value : values) {
        largest = std::max(largest, value.size());
      }
      if (type == "array" || largest == 0) {
        add_schema({{"type", type}, {type == "array" ? "minItems" : "minProperties", largest + 1}});
      }
    }
  }

  void add_other_numbers(std::vector<Json> values) {
    if (values.size() > kMaxListedNumbers) {
      return;
    }
    std::sort(values.begin(), values.end(),
              [](const Json& a, const Json& b) { return a.number() < b.number(); });
    for (std::size_t i = 0; i <= values.size(); ++i) {
      Json gap{{"type", "number"}};
      if (i > 0) {
        gap.add("exclusiveMinimum", values[i - 1]);
      }
      if (i < values.size()) {
        gap.add("exclusiveMaximum", values[i]);
      }
      add_schema(std::move(gap));
    }
  }

  bool add_properties(const Json& properties) {
    for (const JsonMember& one : properties.members()) {
      if (one.value != Json(true)) {
        document_.spend(one.value.size(), part_.where);
        add_schema(
            {{"type", "object"},
             {"required", Json::array({one.key})},
             {"properties", Json(std::map<std::string, Json>{{one.key, not_of(one.value)}})}});
      }
    }
    return true;
  }

  bool add_required(const Json& required) {
    for (const Json& name : required) {
      add_schema(without_property(name.text()));
    }
    return true;
  }

  bool add_dependent(const Json& all) {
    for (const JsonMember& one : all.members()) {
      for (const Json& name : one.value) {
        Json schema = without_property(name.text());
        schema.add("required", Json::array({one.key}));
        add_schema(std::move(schema));
      }
    }
    return true;
  }

  bool add_additional(const Json& others) {
    const bool is_alone = !schema_.contains("properties") && !schema_.contains("patternProperties");
    if (is_alone && others != Json(true)) {
      add_schema(
          {{"type", "object"}, {"minProperties", 1}, {"additionalProperties", not_of(others)}});
    }
    return is_alone || others == Json(true);
  }

  bool add_items(const Json& items) {
    if (items.is_array()) {
      return add_first_items(items);
    }
    const bool is_alone = !schema_.contains("prefixItems");
    if (is_alone && items != Json(true)) {
      add_schema({{"type", "array"}, {"contains", not_of(items)}});
    }
    return is_alone || items == Json(true);
  }

  bool add_first_items(const Json& items) {
    Json first = Json::array();
    for (const Json& item : items) {
      Json schemas = first;
      schemas.push_back(not_of(item));
      add_schema({{"type", "array"},
                  {"minItems", schemas.size()},
                  {"prefixItems", schemas},
                  {"items", true}});
      first.push_back(true);
    }
    return true;
  }

  bool add_contains(const Json& item) {
    const bool is_plain = !schema_.contains("minContains") && !schema_.contains("maxContains");
    if (is_plain) {
      add_schema({{"type", "array"}, {"items", not_of(item)}});
    }
    return is_plain;
  }

  bool add_pattern(const Json& pattern) {
    require_schema(pattern.is_string(), part_.where, "pattern: expected a text");
    add_schema({{"type", "string"}, {"pattern", R"(^(?![\s\S]*(?:)" + pattern.text() + "))"}});
    return true;
  }

  bool add_format(const Json& format) { return document_.format(format, part_.where) == nullptr; }

  bool add_not(const Json&) {
    branches_.push_back({inner("not", false)});
    return true;
  }

  bool add_condition(const Json&) {
    if (schema_.contains("then")) {
      branches_.push_back({inner("if", false), inner("then", true)});
    }
    if (schema_.contains("else")) {
      branches_.push_back({inner("if", true), inner("else", true)});
    }
    return true;
  }

  bool add_combined(const std::string& keyword, const Json& value) {
    if (keyword == "$ref") {
      SchemaPart target = document_.target(part_, keyword);
      target.is_negated = true;
      branches_.push_back({target});
      return true;
    }
    if (!value.is_array() || (keyword != "allOf" && keyword != "anyOf" && keyword != "oneOf")) {
      return false;
    }
    SchemaParts none;
    for (std::size_t i = 0; i < value.size(); ++i) {
      none.push_back(document_.within(part_, value[i], concat_text('/', keyword, '/', i)));
      none.back().is_negated = true;
    }
    for (const SchemaPart& one : none) {
      if (keyword == "allOf") {
        branches_.push_back({one});
      }
    }
    if (keyword != "allOf") {
      branches_.push_back(std::move(none));
    }
    return true;
  }

  SchemaDocument& document_;
  SchemaPart part_;
  const Json& schema_;
  Branches branches_;
};

}  // namespace

std::vector<SchemaParts> negation(SchemaDocument& document, const SchemaPart& part) {
  return Negation(document, part).branches();
}

}  // namespace headlight
