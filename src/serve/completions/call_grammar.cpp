#include "serve/completions/call_grammar.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/chat_template/tool_parameter.h"
#include "generate/grammar/gbnf.h"
#include "generate/json_schema/json_schema_grammar.h"
#include "generate/json_schema/schema_keywords.h"
#include "headlight/base/error.h"

namespace headlight::serve {
namespace {

constexpr const char* kSchemas = "/$defs/";

// Returns a schema with an address of its own: its references "#/..." begin there.
Json addressed_schema(const Json& schema, const std::string& address) {
  Json result = schema;
  if (schema.is_object() && !schema.contains("$id")) {
    result.add("$id", address);
  }
  return result;
}

// Returns a name as a part of a JSON pointer.
std::string pointer_name(const std::string& name) {
  std::string part;
  for (const char c : name) {
    part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return part;
}

// Returns the rules of plain text without the mark that ends a parameter, and without that mark
// before its last character: small models write variants of the mark such as "</parameter_city>".
// `begun`: a part of the mark that another one or the end of the text follows; `broken`: one that
// another character follows.
std::string text_rules() {
  const std::string_view mark = kParameterEnd.substr(0, kParameterEnd.size() - 1);
  std::string begun;
  std::string broken;
  for (std::size_t i = 1; i < mark.size(); ++i) {
    const std::string part = concat_text(i > 1 ? " | " : "", gbnf_literal(mark.substr(0, i)));
    begun += part;
    broken += concat_text(part, " [^", mark[i], mark[0], ']');
  }
  return concat_text("begun ::= ", begun, "\nbroken ::= ", broken, "\ntext ::= ([^", mark[0],
                     "] | begun* broken)* begun*\n");
}

// Writes the rules of calls: one for each function.
class CallRules {
 public:
  explicit CallRules(const ToolStyle& style) : style_(style) {}

  void add(const Json& function) {
    Json parameters = function.value("parameters", Json());
    if (parameters.empty()) {
      parameters = {{"type", "object"}, {"properties", Json::object()}};
    }
    const std::string& name = function["name"].text();
    const std::string root = add_parameters(parameters);
    calls_ += calls_.empty() ? "" : " | ";
    if (style_.has_parameters) {
      calls_ += gbnf_literal(concat_text(style_.name_begin, name, style_.name_end, '\n')) +
                parameter_rules(parameters, root) + ' ' + gbnf_literal(kFunctionEnd);
      return;
    }
    const bool has_name = !style_.name_end.empty();
    const std::string begin =
        has_name ? concat_text(style_.name_begin, name, style_.name_end)
                 : concat_text("{\"name\": ", Json(name).dump(), ", \"", style_.arguments, "\": ");
    calls_ += gbnf_literal(begin) + ' ' +
              rule_of(root.substr(0, root.find('/', std::string_view(kSchemas).size()))) +
              (has_name ? "" : " \"}\"");
  }

  // Adds the rule "text-answer" for the JSON values of a schema.
  void add_answer(const Json& schema) {
    const std::string number = std::to_string(functions_.size());
    functions_.add(number, addressed_schema(schema, "answer"));
    rules_.emplace_back("text-answer", concat_text("#", kSchemas, number));
  }

  // Returns the grammar. `answer`: expression of the whole answer, with the rule "call".
  std::string grammar(const std::string& answer, const WorkBudget& budget) const {
    return "root ::= " + answer + "\ncall ::= " + calls_ + '\n' +
           (style_.has_parameters ? text_rules() : "") +
           json_schema_grammar({{"$defs", functions_}}, rules_, budget);
  }

 private:
  // Adds the schema of a function's parameters to the document and returns its pointer. Only
  // objects satisfy the document's schema.
  std::string add_parameters(const Json& schema) {
    const std::string number = std::to_string(functions_.size());
    const std::string pointer = kSchemas + number;
    const Json addressed = addressed_schema(schema, "function-" + number);
    if (schema.value("type", Json()) == Json("object")) {
      functions_.add(number, addressed);
      return pointer;
    }
    functions_.add(number, {{"allOf", Json::array({{{"type", "object"}}, addressed})}});
    return pointer + "/allOf/1";
  }

  // Returns the name of a new rule for the JSON values of a schema of the document.
  std::string rule_of(const std::string& pointer) {
    rules_.emplace_back(concat_text("json", rules_.size()), "#" + pointer);
    return rules_.back().first;
  }

  std::string parameter_rules(const Json& parameters, const std::string& root) {
    for (const char* keyword : {"$ref", "allOf", "anyOf", "oneOf"}) {
      require(!parameters.contains(keyword), keyword,
              ": is not supported around the parameters of this chat template");
    }
    const Json properties = parameters.value("properties", Json::object());
    const Json required = parameters.value("required", Json::array());
    require(properties.is_object() && required.is_array(),
            "expected properties and required names of the parameters");
    std::set<std::string_view> names;
    for (const Json& name : required) {
      require(name.is_string() && properties.contains(name.text()), "required: ", name.dump(),
              " is no property");
      names.insert(name.text());
    }
    std::string rules;
    for (const JsonMember& property : properties.members()) {
      require(property.key.find(kParameterNameEnd) == std::string::npos, Json(property.key).dump(),
              ": expected names of parameters without '>'");
      const std::string begin = concat_text(kParameterBegin, property.key, kParameterNameEnd, '\n');
      const std::string end = concat_text(kParameterEnd, '\n');
      rules +=
          concat_text(" (", gbnf_literal(begin), ' ', value_expression(property, parameters, root),
                      " \"\\n\"? ", gbnf_literal(end), names.contains(property.key) ? ")" : ")?");
    }
    return rules;
  }

  std::string value_expression(const JsonMember& property, const Json& parameters,
                               const std::string& root) {
    const Json* text = schema_part(property.value, parameters, "string");
    if (text == nullptr) {
      return rule_of(root + "/properties/" + pointer_name(property.key));
    }
    std::string values;
    for (const Json& value : listed_values(*text, "parameters")) {
      if (value.is_string()) {
        values += (values.empty() ? "(" : " | ") + gbnf_literal(value.text());
      }
    }
    if (!values.empty()) {
      return values + ')';
    }
    for (const JsonMember& member : text->members()) {
      require(member.key == "type" || is_annotation(member.key), member.key,
              ": is not supported for texts in calls of this chat template");
    }
    return "text";
  }

  const ToolStyle& style_;
  std::string calls_;
  Json functions_ = Json::object();  // the schemas of parameters, by number
  std::vector<SchemaRule> rules_;
};

// Returns the expression of the whole answer.
std::string answer_expression(const ToolStyle& style, bool has_several) {
  if (style.is_list) {
    return concat_text(R"("[" call )", has_several ? R"((", " call)* )" : "", R"("]")");
  }
  if (!has_several) {
    return "call";
  }
  if (!style.has_lines) {
    return concat_text("call (", gbnf_literal(style.begin), " call)*");
  }
  const std::string end = concat_text('\n', style.end);
  return concat_text("call (", gbnf_literal(concat_text(end, '\n', style.begin, '\n')), " call)* (",
                     gbnf_literal(end), ")?");
}

}  // namespace

std::shared_ptr<const Grammar> call_grammar(const ToolsRequest& request, const Json& schema,
                                            const WorkBudget& budget) {
  try {
    CallRules rules(*request.style);
    for (const Json& function : request.functions) {
      rules.add(function);
    }
    std::string answer = answer_expression(*request.style, request.most_calls > 1);
    if (!request.must_call) {  // the prompt does not end with the begin of a call
      rules.add_answer(schema);
      const std::string begin = begin_of_call(*request.style);
      answer = concat_text("text-answer | ", begin.empty() ? "" : gbnf_literal(begin), ' ', answer);
    }
    return std::make_shared<Grammar>(rules.grammar(answer, budget));
  } catch (const Error& error) {
    fail_value("tools", error.what());
  }
}

}  // namespace headlight::serve
