#include "generate/grammar/json_schema.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/printable.h"
#include "generate/grammar/gbnf.h"
#include "generate/grammar/other_keys.h"
#include "generate/grammar/schema_keywords.h"
#include "generate/grammar/schema_merge.h"
#include "generate/grammar/schema_numbers.h"
#include "headlight/generate/grammar.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxRuleBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxKeyBytes = 256;
// Counts of characters and items. A larger maximum acts as this one.
constexpr std::size_t kMaxCount = 10'000;
constexpr std::size_t kBytesOfPlace = 64;  // in a unit of SchemaRoot::spend()
constexpr std::size_t kNoMaximum = static_cast<std::size_t>(-1);

// Rules for JSON, RFC 8259, and for dates and times, RFC 3339. Escapes name no half of a surrogate
// pair, and no number is beyond the range of a double.
constexpr std::string_view kJsonRules = R"gbnf(
ws ::= (" " | "\n" " "{0,40})?
hex ::= [0-9a-fA-F]
plain ::= [^"\\\x00-\x1F]
escape ::= ["\\/bfnrt] | "u" ([0-9a-cefA-CEF] hex{3} | [dD] ([0-7] hex{2} | high))
high ::= [89abAB] hex{2} "\\u" [dD] [c-fC-F] hex{2}
character ::= plain | "\\" escape
string ::= "\"" character* "\""
integer ::= "-"? ("0" | [1-9] [0-9]{0,17})
number ::= integer ("." [0-9]{1,17})? ([eE] [-+]? [0-9]{1,2})?
boolean ::= "true" | "false"
null ::= "null"
member ::= string ":" ws value
object ::= "{" ws (member ("," ws member)* ws)? "}"
array ::= "[" ws (value ("," ws value)* ws)? "]"
value ::= object | array | string | number | boolean | null
leap-year ::= [0-9]{2} ("0" [48] | [2468] [048] | [13579] [26]) | ([02468] [048] | [13579] [26]) "00"
day28 ::= "0" [1-9] | "1" [0-9] | "2" [0-8]
day30 ::= day28 | "29" | "30"
long-month ::= "0" [13578] | "1" [02]
short-month ::= "0" [469] | "11"
month-day ::= long-month "-" (day30 | "31") | short-month "-" day30 | "02-" day28
date ::= [0-9]{4} "-" month-day | leap-year "-02-29"
minutes ::= ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]
time ::= minutes ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [-+] minutes)
date-time ::= date "T" time
uuid ::= hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12}
)gbnf";

std::string repeats(std::size_t least, std::size_t most) {
  return most == kNoMaximum ? concat_text('{', least, ",}")
                            : concat_text('{', least, ',', std::min(most, kMaxCount), '}');
}

// Minimum and maximum of a number of characters or items.
struct CountLimits {
  std::size_t least = 0;
  std::size_t most = kNoMaximum;
};

CountLimits limits_of(const Json& schema, const std::string& what, const std::string& place) {
  const CountLimits limits{.least = count_of(schema, "min" + what, 0, place),
                           .most = count_of(schema, "max" + what, kNoMaximum, place)};
  require_schema(limits.least <= limits.most, place, "max", what, ": expected at least min", what);
  require_schema(limits.least <= kMaxCount, place, "min", what, ": expected at most ", kMaxCount);
  return limits;
}

struct SchemaProperty {
  std::string name;
  Json schema;
  bool required = false;
};

class SchemaWriter {
 public:
  SchemaWriter(const Json& document, std::vector<SchemaRule> rules, WorkBudget budget)
      : root_(document, std::move(budget)), targets_(std::move(rules)) {}

  std::string write() {
    while (!targets_.empty()) {
      const auto [name, pointer] = targets_.back();
      targets_.pop_back();
      append_rule(name, expression(root_.target(pointer, pointer), pointer));
    }
    return text_ + std::string(kJsonRules.substr(1));
  }

 private:
  void append_rule(const std::string& name, const std::string& body) {
    text_ += name + " ::= " + body + '\n';
    require_value(text_.size() <= kMaxRuleBytes, "json_schema", "the schema is too large");
  }

  // Returns the name of a rule with this body.
  std::string rule(const std::string& body) {
    const auto [place, is_new] = rules_.try_emplace(body, concat_text('r', rules_.size()));
    if (is_new) {
      append_rule(place->second, body);
    }
    return place->second;
  }

  // Returns the rule of another schema of the document, which write() then writes.
  std::string reference(const Json& pointer, const std::string& place) {
    root_.target(pointer, place);
    const auto [found, is_new] =
        references_.try_emplace(pointer.text(), concat_text("ref", references_.size()));
    if (is_new) {
      targets_.emplace_back(found->second, pointer.text());
    }
    return found->second;
  }

  // Returns the name of a rule for the values of a schema.
  std::string expression(const Json& schema, const std::string& place) {
    root_.spend(1 + place.size() / kBytesOfPlace, place);
    require_schema(schema != Json(false), place, "no value is allowed");
    if (schema == Json(true)) {
      return "value";
    }
    require_schema(schema.is_object(), place, "expected a schema, got ", schema.type_name());
    check_keywords(schema, place);
    const auto is_alone = [](const JsonMember& member) {
      return member.key == "$ref" || is_annotation(member.key);
    };
    const Json::Object& members = schema.members();
    const bool is_reference = schema.contains("$ref");
    if (is_reference && std::all_of(members.begin(), members.end(), is_alone)) {
      return reference(schema["$ref"], place);
    }
    if (is_reference || schema.contains("allOf")) {
      return nested(root_.expanded(schema, place), place);
    }
    for (const char* keyword : {"anyOf", "oneOf"}) {
      if (schema.contains(keyword)) {
        return any_of(schema, keyword, place);
      }
    }
    return schema.contains("enum") || schema.contains("const") ? listed(schema, place)
                                                               : typed(schema, place);
  }

  // Returns the rule of a schema that was made from others, one of which may contain itself.
  std::string nested(const Json& schema, const std::string& place) {
    constexpr int kMaxNested = 64;
    require_schema(++nested_ <= kMaxNested, place, "schemas are combined too deeply");
    std::string result = expression(schema, place);
    --nested_;
    return result;
  }

  std::string any_of(const Json& schema, const std::string& keyword, const std::string& place) {
    const Json& choices = schema[keyword];
    require_schema(choices.is_array() && !choices.empty(), place, keyword,
                   ": expected a list of schemas");
    Json rest = Json::object();
    for (const JsonMember& member : schema.members()) {
      if (member.key != keyword && !is_annotation(member.key)) {
        rest.add(member.key, member.value);
      }
    }
    std::string all;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const std::string inner = concat_text(place, '/', keyword, '/', i);
      for (std::size_t j = 0; j < i && keyword == "oneOf"; ++j) {
        require_schema(root_.are_disjoint(choices[j], choices[i], inner), place, "oneOf: a value ",
                       "may satisfy both schema ", j, " and schema ", i, ": use anyOf");
      }
      all += (i > 0 ? " | " : "") + (rest.empty()
                                         ? expression(choices[i], inner)
                                         : nested(root_.merged(rest, choices[i], inner), inner));
    }
    return rule(all);
  }

  std::string listed(const Json& schema, const std::string& place) {
    for (const JsonMember& member : schema.members()) {
      const bool fits = member.key == "enum" || member.key == "const" || member.key == "type" ||
                        is_annotation(member.key);
      require_schema(fits, place, "enum or const cannot be combined with ", in_quotes(member.key));
    }
    const std::vector<std::string> types = types_of(schema, place);
    std::string all;
    for (const Json& value : listed_values(schema, place)) {
      root_.spend_on(value, place);
      if (std::any_of(types.begin(), types.end(),
                      [&](const std::string& type) { return has_type(value, type); })) {
        all += (all.empty() ? "" : " | ") + gbnf_literal(value.dump());
      }
    }
    require_schema(!all.empty(), place, "no value of enum or const has the type");
    return rule(all);
  }

  std::string typed(const Json& schema, const std::string& place) {
    const std::vector<std::string> types =
        schema.contains("type") ? types_of(schema, place) : types_of_keywords(schema);
    std::string all;
    for (const std::string& type : types) {
      all += (all.empty() ? "" : " | ") + of_type(schema, type, place);
    }
    return types.size() == 1 ? all : rule(all);
  }

  std::string of_type(const Json& schema, const std::string& type, const std::string& place) {
    const auto has = [&](const auto&... keywords) { return (schema.contains(keywords) || ...); };
    if (type == "object" && has("properties", "required", "additionalProperties")) {
      return object(schema, place);
    }
    if (type == "array" && has("items", "prefixItems", "minItems", "maxItems")) {
      return array(schema, place);
    }
    if (type == "string" && has("minLength", "maxLength", "format")) {
      return string(schema, place);
    }
    const bool is_number = type == "number" || type == "integer";
    if (is_number && has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")) {
      return rule(number_expression(schema, type == "integer", place));
    }
    return type;
  }

  std::string string(const Json& schema, const std::string& place) {
    const CountLimits limits = limits_of(schema, "Length", place);
    const Json* format = schema.find("format");
    if (format == nullptr) {
      return rule(R"("\"" character)" + repeats(limits.least, limits.most) + R"( "\"")");
    }
    const std::vector<Json> formats{"date", "time", "date-time", "uuid"};
    require_schema(std::find(formats.begin(), formats.end(), *format) != formats.end(), place,
                   "the format ", in_quotes(format->dump()), " is not supported");
    require_schema(limits.least == 0 && limits.most == kNoMaximum, place,
                   "format cannot be combined with minLength or maxLength");
    return rule(R"("\"" )" + format->text() + R"( "\"")");
  }

  std::vector<SchemaProperty> properties_of(const Json& schema, const std::string& place) {
    std::vector<SchemaProperty> properties;
    const Json listed = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    require_schema(listed.is_object(), place, "properties: expected an object");
    require_schema(required.is_array(), place, "required: expected a list of names");
    std::map<std::string, std::size_t> places;
    for (const JsonMember& member : listed.members()) {
      places.emplace(member.key, properties.size());
      properties.push_back({member.key, member.value});
    }
    const Json others = schema.value("additionalProperties", true);
    for (const Json& name : required) {
      require_schema(name.is_string(), place, "required: expected a list of names");
      const auto [found, is_new] = places.emplace(name.text(), properties.size());
      if (is_new) {
        require_schema(others != Json(false), place, "required: ", in_quotes(name.text()),
                       " is no property");
        properties.push_back({name.text(), others});
      }
      properties[found->second].required = true;
    }
    return properties;
  }

  // Writes two rules for each property: the rest of the object if no property has been written, and
  // after another property, with a comma. The number of rules is linear in the properties.
  std::string object(const Json& schema, const std::string& place) {
    const std::vector<SchemaProperty> properties = properties_of(schema, place);
    const std::string other = other_member(schema, properties, place);
    std::string first = other.empty() ? "\"\"" : '(' + other + " (\",\" ws " + other + ")*)?";
    std::string later = other.empty() ? "\"\"" : "(\",\" ws " + other + ")*";
    for (auto property = properties.rbegin(); property != properties.rend(); ++property) {
      const std::string inner = place + "/properties/" + property->name;
      const std::string key = gbnf_literal(Json(property->name).dump() + ':');
      const std::string rest = rule(later);
      const std::string skipped = rule(first);
      const std::string member = rule(key + " ws " + expression(property->schema, inner));
      first = member + ' ' + rest + (property->required ? "" : " | " + skipped);
      later = "\",\" ws " + member + ' ' + rest + (property->required ? "" : " | " + rest);
    }
    return rule("\"{\" ws " + rule(first) + " ws \"}\"");
  }

  // Returns the rule of a member that is not listed; "": there are none.
  std::string other_member(const Json& schema, const std::vector<SchemaProperty>& properties,
                           const std::string& place) {
    const Json* others = schema.find("additionalProperties");
    const bool is_open = others == nullptr && !schema.contains("properties");
    if (!is_open && (others == nullptr || *others == Json(false))) {
      return "";
    }
    std::vector<std::string> names;
    for (const SchemaProperty& property : properties) {
      require_schema(property.name.size() <= kMaxKeyBytes, place, "a name of a property has more ",
                     "than ", kMaxKeyBytes, " bytes");
      names.push_back(property.name);
    }
    const std::string key = other_keys(names, [&](const std::string& body) { return rule(body); });
    const std::string value =
        is_open ? "value" : expression(*others, place + "/additionalProperties");
    return rule(key + " \":\" ws " + value);
  }

  std::string array(const Json& schema, const std::string& place) {
    const CountLimits limits = limits_of(schema, "Items", place);
    const Json first = schema.value("prefixItems", Json::array());
    require_schema(first.is_array(), place, "prefixItems: expected a list of schemas");
    const bool has_more = schema.value("items", first.empty()) != Json(false);
    std::size_t most = has_more || limits.least > first.size() ? limits.most : first.size();
    most = std::min(most, limits.most);
    require_schema(limits.least <= most, place, "minItems: expected at most ", most);
    const auto comma = [](std::size_t place_of_item) {
      return place_of_item > 0 ? "\",\" ws " : "";
    };
    std::string rest = R"("")";
    if (most > first.size()) {
      const std::string item = expression(schema.value("items", true), place + "/items");
      rest = more_items(item, first.size(), {limits.least, most});
    }
    for (std::size_t i = std::min(first.size(), most); i-- > 0;) {
      const std::string item = expression(first[i], concat_text(place, "/prefixItems/", i));
      rest = comma(i) + item + ' ' + rule(rest) + (i >= limits.least ? R"( | "")" : "");
    }
    return rule("\"[\" ws " + rule(rest) + " ws \"]\"");
  }

  // Returns an expression for the items after the first `before` ones.
  static std::string more_items(const std::string& item, std::size_t before,
                                const CountLimits& all) {
    const std::size_t least = all.least - std::min(all.least, before);
    const std::size_t most = all.most == kNoMaximum ? kNoMaximum : all.most - before;
    const std::string next = "(\",\" ws " + item + ')';
    if (before > 0) {
      return next + repeats(least, most);
    }
    const std::string later = next + repeats(least - std::min<std::size_t>(least, 1),
                                             most == kNoMaximum ? most : most - 1);
    return '(' + item + ' ' + later + ')' + (least == 0 ? "?" : "");
  }

  SchemaRoot root_;
  std::string text_;
  std::map<std::string, std::string> rules_;       // names by body
  std::map<std::string, std::string> references_;  // names by JSON pointer
  std::vector<SchemaRule> targets_;                // rules that are not yet written
  int nested_ = 0;
};

}  // namespace

std::string json_schema_grammar(const Json& document, std::vector<SchemaRule> rules,
                                WorkBudget budget) {
  return SchemaWriter(document, std::move(rules), std::move(budget)).write();
}

}  // namespace headlight
