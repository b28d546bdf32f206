#include "generate/json_schema/schema_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "generate/json_schema/schema_children.h"
#include "generate/json_schema/schema_keywords.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

constexpr int kMaxValueDepth = 64;

Satisfied answer(bool yes) { return yes ? Satisfied::yes : Satisfied::no; }

Satisfied opposite(Satisfied one) {
  return one == Satisfied::unknown ? one : answer(one == Satisfied::no);
}

bool is_listed(const Json& value, const Json& list) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Json& one) { return comparable(one) == comparable(value); });
}

class ValueCheck {
 public:
  explicit ValueCheck(SchemaDocument& document) : document_(document) {}

  Satisfied all(const Json& value, const SchemaPart& part) {
    const Json& schema = *part.schema;
    require_schema(++depth_ <= kMaxValueDepth, part.where, "schemas are combined too deeply");
    document_.spend(1 + schema.size(), part.where);
    Satisfied result = Satisfied::unknown;
    if (schema.is_boolean()) {
      result = answer(schema.boolean());
    } else {
      const std::vector<Json> listed = listed_values(schema, part.where);
      result = answer(listed.empty() || is_listed(value, Json(listed)));
      result = std::min({result, single(value, part), combined(value, part)});
    }
    --depth_;
    return part.is_negated ? opposite(result) : result;
  }

  // Checks the keywords about single types.
  Satisfied single(const Json& value, const SchemaPart& part) {
    const Json& schema = *part.schema;
    if (!schema.is_object()) {
      return Satisfied::yes;
    }
    const std::vector<std::string> types = types_of(schema, part.where);
    const bool has_given_type = std::any_of(
        types.begin(), types.end(), [&](const std::string& type) { return has_type(value, type); });
    const bool is_open = schema.contains("unevaluatedItems") && value.is_array();
    const bool has_open = schema.contains("unevaluatedProperties") && value.is_object();
    const Satisfied limit = is_open || has_open ? Satisfied::unknown : Satisfied::yes;
    return std::min({answer(has_given_type), limit,
                     value.is_number()   ? number(value, part)
                     : value.is_string() ? text(value.text(), part)
                     : value.is_array()  ? items(value, part)
                     : value.is_object() ? members(value, part)
                                         : Satisfied::yes});
  }

 private:
  Satisfied combined(const Json& value, const SchemaPart& part) {
    const Json& schema = *part.schema;
    Satisfied result = Satisfied::yes;
    for (const char* keyword : {"$ref", "$dynamicRef", "$recursiveRef"}) {
      if (schema.contains(keyword)) {
        result = std::min(result, all(value, document_.target(part, keyword)));
      }
    }
    if (schema.contains("not")) {
      result = std::min(result, opposite(within(value, part, "not")));
    }
    if (schema.contains("if")) {
      const Satisfied condition = within(value, part, "if");
      const Satisfied then = within(value, part, "then");
      const Satisfied fallback = within(value, part, "else");
      result = std::min(result, condition == Satisfied::unknown ? std::min(then, fallback)
                                : condition == Satisfied::yes   ? then
                                                                : fallback);
    }
    for (const char* keyword : {"allOf", "anyOf", "oneOf"}) {
      result = std::min(result, listed(value, part, keyword));
    }
    return result;
  }

  Satisfied within(const Json& value, const SchemaPart& part, const std::string& keyword) {
    const Json* schema = part.schema->find(keyword);
    return schema == nullptr ? Satisfied::yes
                             : all(value, document_.within(part, *schema, '/' + keyword));
  }

  Satisfied listed(const Json& value, const SchemaPart& part, const std::string& keyword) {
    const Json* schemas = part.schema->find(keyword);
    if (schemas == nullptr) {
      return Satisfied::yes;
    }
    std::array<std::size_t, 3> counts{};
    for (const Json& one : *schemas) {
      ++counts[static_cast<std::size_t>(all(value, document_.within(part, one, '/' + keyword)))];
    }
    const auto [no, unknown, yes] = counts;
    if (keyword == "allOf") {
      return no > 0 ? Satisfied::no : unknown > 0 ? Satisfied::unknown : Satisfied::yes;
    }
    if (keyword == "oneOf" && yes > 1) {
      return Satisfied::no;
    }
    return yes > 0 && (keyword == "anyOf" || unknown == 0) ? Satisfied::yes
           : unknown > 0                                   ? Satisfied::unknown
                                                           : Satisfied::no;
  }

  Satisfied number(const Json& value, const SchemaPart& part) {
    constexpr double kMaxExact = 0x1p53;
    const Json& schema = *part.schema;
    const double number = value.number();
    bool has_limits = false;
    bool is_inside = true;
    for (const auto& [keyword, exclusive, sign] :
         {std::tuple("minimum", "exclusiveMinimum", 1), {"maximum", "exclusiveMaximum", -1}}) {
      const Json* limit = schema.find(keyword);
      const Json* strict = schema.find(exclusive);
      const bool is_strict = strict != nullptr && *strict == Json(true);  // in draft 4
      has_limits = has_limits || limit != nullptr || strict != nullptr;
      if (limit != nullptr) {
        const double beyond = sign * (number - limit->number());
        is_inside = is_inside && (is_strict ? beyond > 0 : beyond >= 0);
      }
      if (strict != nullptr && strict->is_number()) {
        is_inside = is_inside && sign * (number - strict->number()) > 0;
      }
    }
    if (const Json* factor = schema.find("multipleOf")) {
      const bool is_whole = factor->is_integer();
      const double rest = is_whole
                              ? std::fmod(number, factor->number())
                              : number / factor->number() - std::trunc(number / factor->number());
      has_limits = true;
      is_inside = is_inside && rest == 0;
    }
    return has_limits && std::abs(number) > kMaxExact ? Satisfied::unknown : answer(is_inside);
  }

  Satisfied text(const std::string& value, const SchemaPart& part) {
    const Json& schema = *part.schema;
    const auto length = static_cast<std::size_t>(character_count(value));
    if (length < count_of(schema, "minLength", 0, part.where) ||
        length > count_of(schema, "maxLength", length, part.where)) {
      return Satisfied::no;
    }
    Satisfied result = Satisfied::yes;
    if (const Json* pattern = schema.find("pattern")) {
      result = pattern_match(document_, *pattern, value, part.where);
    }
    const Json* format = schema.find("format");
    const TextLanguage* language =
        format == nullptr ? nullptr : document_.format(*format, part.where);
    return language != nullptr && !language->contains(value) ? std::min(result, Satisfied::unknown)
                                                             : result;
  }

  Satisfied items(const Json& value, const SchemaPart& part) {
    const Json& schema = *part.schema;
    if (value.size() < count_of(schema, "minItems", 0, part.where) ||
        value.size() > count_of(schema, "maxItems", value.size(), part.where)) {
      return Satisfied::no;
    }
    std::set<std::string> different;
    Satisfied result = Satisfied::yes;
    std::size_t contained = 0;
    std::size_t perhaps = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      different.insert(comparable(value[i]));
      for (const SchemaPart& item : item_parts(document_, {{part, part.schema}}, i)) {
        result = std::min(result, all(value[i], item));
      }
      if (schema.contains("contains")) {
        const Satisfied one = within(value[i], part, "contains");
        contained += one == Satisfied::yes ? 1 : 0;
        perhaps += one == Satisfied::unknown ? 1 : 0;
      }
    }
    if (schema.contains("contains")) {
      const std::size_t least = count_of(schema, "minContains", 1, part.where);
      const std::size_t most = count_of(schema, "maxContains", value.size(), part.where);
      const bool is_sure = contained >= least && contained + perhaps <= most;
      const bool is_possible = contained + perhaps >= least && contained <= most;
      result = std::min(result, is_sure       ? Satisfied::yes
                                : is_possible ? Satisfied::unknown
                                              : Satisfied::no);
    }
    const bool is_unique = schema.value("uniqueItems", false) == Json(true);
    return is_unique && different.size() < value.size() ? Satisfied::no : result;
  }

  Satisfied members(const Json& value, const SchemaPart& part) {
    const Json& schema = *part.schema;
    if (value.size() < count_of(schema, "minProperties", 0, part.where) ||
        value.size() > count_of(schema, "maxProperties", value.size(), part.where)) {
      return Satisfied::no;
    }
    for (const Json& name : schema.value("required", Json::array())) {
      if (!value.contains(name.text())) {
        return Satisfied::no;
      }
    }
    Satisfied result = Satisfied::yes;
    for (const JsonMember& member : value.members()) {
      for (const SchemaPart& one : member_parts(document_, {{part, part.schema}}, member.key)) {
        result = std::min(result, all(member.value, one));
      }
      result = std::min(result, within(Json(member.key), part, "propertyNames"));
    }
    const auto has = [&](const auto&... keywords) { return (schema.contains(keywords) || ...); };
    return has("patternProperties", "dependencies", "dependentRequired", "dependentSchemas")
               ? std::min(result, Satisfied::unknown)
               : result;
  }

  SchemaDocument& document_;
  int depth_ = 0;
};

}  // namespace

Satisfied pattern_match(SchemaDocument& document, const Json& pattern, std::string_view text,
                        const std::string& where) {
  return document.pattern(pattern, PatternMatch::surely, where).contains(text) ? Satisfied::yes
         : document.pattern(pattern, PatternMatch::possibly, where).contains(text)
             ? Satisfied::unknown
             : Satisfied::no;
}

Satisfied satisfied(SchemaDocument& document, const Json& value, const SchemaPart& part) {
  return ValueCheck(document).all(value, part);
}

Satisfied satisfied_beyond_lists(SchemaDocument& document, const Json& value,
                                 const SchemaCase& nodes) {
  Satisfied result = Satisfied::yes;
  for (const SchemaNode& node : nodes) {
    document.spend(1, node.part.where);
    result = std::min(result, ValueCheck(document).single(value, node.part));
  }
  return result;
}

}  // namespace headlight
