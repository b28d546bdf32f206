#include "generate/json_schema/json_schema_grammar.h"

#include <algorithm>
#include <map>
#include <set>

#include "generate/grammar/gbnf.h"
#include "generate/json_schema/languages/number_language.h"
#include "generate/json_schema/schema_keywords.h"
#include "generate/json_schema/typed_rules.h"
#include "headlight/generate/grammar.h"

namespace headlight {
namespace {

// Rules for JSON, RFC 8259. Escapes name no half of a surrogate pair, and no number is beyond the
// range of a double.
constexpr std::string_view kJsonRules = R"gbnf(
ws ::= (" " | "\n" " "{0,40})?
hex ::= [0-9a-fA-F]
plain ::= [^"\\\x00-\x1F]
control ::= "\\" ([bfnrt] | "u00" [01] hex)
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
none ::= []
)gbnf";

class SchemaWriter {
 public:
  SchemaWriter(const Json& document, WorkBudget budget)
      : document_(document, std::move(budget)), rules_(document_) {}

  std::string write(const std::vector<SchemaRule>& targets) {
    std::set<std::string> roots;
    for (const auto& [name, pointer] : targets) {
      const std::string values = rules_.values({document_.at(pointer, pointer)});
      rules_.append(name, values);
      roots.insert(values);
    }
    std::string name;
    SchemaParts parts;
    while (rules_.next_values(name, parts)) {
      const std::string body = values(parts);
      if (body.empty() && roots.contains(name)) {
        const auto& [where, reason] = rules_.reason();
        refuse_schema(where.empty() ? parts[0].where : where,
                      reason.empty() ? "no value is allowed" : reason);
      }
      rules_.append(name, body.empty() ? SchemaRules::kNoText : body);
    }
    return rules_.text() + std::string(kJsonRules.substr(1));
  }

 private:
  // Returns an expression for the values that satisfy all parts, or "".
  std::string values(const SchemaParts& parts) {
    std::string all;
    for (const SchemaCase& nodes : schema_cases(document_, parts)) {
      if (nodes.empty()) {
        return "value";
      }
      const auto listed = listed_values(document_, nodes);
      const std::string one = listed ? literals(*listed, nodes) : typed(nodes);
      all += (all.empty() || one.empty() ? "" : " | ") + one;
    }
    return all;
  }

  std::string literals(const std::vector<Json>& listed, const SchemaCase& nodes) {
    std::string all;
    for (const Json& value : listed) {
      all += (all.empty() ? "" : " | ") + gbnf_literal(value.dump());
    }
    if (all.empty()) {
      rules_.no_text(nodes[0].part.where, "no value of enum or const satisfies the schema");
    }
    return all;
  }

  std::string typed(const SchemaCase& nodes) {
    std::string all;
    for (const std::string& type : types_of(nodes)) {
      const std::string one = of_type(nodes, type);
      all += one == SchemaRules::kNoText ? "" : (all.empty() ? "" : " | ") + one;
    }
    return all;
  }

  std::string of_type(const SchemaCase& nodes, const std::string& type) {
    const std::string kind = type == "integer" ? "number" : type;
    const bool is_limited = std::any_of(nodes.begin(), nodes.end(), [&](const SchemaNode& node) {
      const std::vector<std::string> types = types_of_keywords(*node.part.schema);
      return std::find(types.begin(), types.end(), kind) != types.end();
    });
    return !is_limited        ? type
           : kind == "object" ? object_rule(rules_, nodes)
           : kind == "array"  ? array_rule(rules_, nodes)
           : kind == "string" ? string(nodes)
                              : number(nodes, type == "integer");
  }

  // Equal strings are found once: many properties may have the same format.
  std::string string(const SchemaCase& nodes) {
    Json limits = Json::array();
    for (const char* keyword : {"pattern", "format", "minLength", "maxLength"}) {
      for (const auto& [node, value] : uses_of(nodes, keyword)) {
        limits.push_back(Json::array({keyword, *value}));
      }
    }
    std::string& known = strings_[limits.dump()];
    known = known.empty() ? new_string(nodes) : known;
    return known;
  }

  std::string new_string(const SchemaCase& nodes) {
    if (const auto language = string_language(document_, nodes)) {
      const std::string texts = rules_.strings(*language);
      return texts != SchemaRules::kNoText
                 ? texts
                 : rules_.no_text(nodes[0].part.where,
                                  "no text satisfies pattern, format and lengths");
    }
    const CountLimits limits = count_limits(nodes, "Length");
    const bool has_maximum = limits.most != TextLanguage::kNoMaximum;
    const std::string most = has_maximum ? std::to_string(std::min(limits.most, kMaxCount)) : "";
    return limits.least == 0 && !has_maximum
               ? "string"
               : rules_.rule(
                     concat_text(R"("\"" character{)", limits.least, ',', most, R"(} "\"")"));
  }

  std::string number(const SchemaCase& nodes, bool is_integer) {
    const NumberTexts texts = number_language(document_, nodes, is_integer);
    const std::string& where = nodes[0].part.where;
    document_.spend(texts.positive.states().size() + texts.negative.states().size(), where);
    const std::string positive = rules_.numbers(texts.positive);
    const std::string negative = rules_.numbers(texts.negative);
    if (positive == SchemaRules::kNoText && negative == SchemaRules::kNoText) {
      return rules_.no_text(where, "no number satisfies the limits");
    }
    return rules_.rule(positive == SchemaRules::kNoText   ? "\"-\" " + negative
                       : negative == SchemaRules::kNoText ? positive
                                                          : positive + " | \"-\" " + negative);
  }

  SchemaDocument document_;
  SchemaRules rules_;
  std::map<std::string, std::string> strings_;  // expressions by their limits
};

}  // namespace

std::string json_schema_grammar(const Json& document, std::vector<SchemaRule> rules,
                                WorkBudget budget) {
  return SchemaWriter(document, std::move(budget)).write(rules);
}

}  // namespace headlight
