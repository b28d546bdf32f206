#include "serve/completions/answer_format.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/strings/printable.h"
#include "generate/grammar/gbnf.h"
#include "generate/grammar/regular_expression.h"
#include "generate/json_schema/json_schema_grammar.h"
#include "headlight/base/error.h"

namespace headlight::serve {
namespace {

// Throws Error about `name` for a member of `value` that is not known.
void require_members(const Json& value, std::initializer_list<std::string_view> known,
                     const char* name) {
  for (const JsonMember& member : value.members()) {
    require_value(std::ranges::find(known, std::string_view(member.key)) != known.end(), name,
                  "has no member ", in_quotes(member.key));
  }
}

// Reads "response_format": OpenAI's forms, and llama.cpp's json_object with a schema.
AnswerFormat read_response_format(Fields& fields) {
  const Json* format = fields.find("response_format", &Json::is_object, "an object");
  if (format == nullptr) {
    return {};
  }
  require_members(*format, {"type", "json_schema", "schema"}, "response_format");
  const Json kind = format->value("type", Json());
  const std::string type = kind.is_string() ? kind.text() : kind.dump();
  const Json named = format->value("json_schema", Json());
  const Json* schema =
      type == "json_schema" && !named.is_null() ? named.find("schema") : format->find("schema");
  if (named.is_object()) {
    require_members(named, {"name", "description", "schema", "strict"}, "response_format");
  }
  require_value(type == "json_object" || type == "text" || type == "json_schema", "response_format",
                "expected the type text, json_object or json_schema, got '", escaped(type), "'");
  require_value(type != "json_schema" || schema != nullptr, "response_format",
                "expected {\"type\": \"json_schema\", \"json_schema\": {\"schema\": ...}}");
  require_value(type != "text" || schema == nullptr, "response_format",
                "expected the type json_object or json_schema beside a schema");
  const Json any_object{{"type", "object"}};
  return {.schema = type == "text" ? Json() : schema == nullptr ? any_object : *schema};
}

// Returns a grammar of the texts that a regular expression matches as a whole.
std::string grammar_of_regex(const std::string& pattern) {
  try {
    return pattern_grammar(pattern);
  } catch (const Error& error) {
    fail_value("structured_outputs", "the regex ", in_quotes(pattern), ": ", error.what());
  }
}

// Reads vLLM's "structured_outputs".
AnswerFormat read_structured_outputs(Fields& fields) {
  const Json* given = fields.find("structured_outputs", &Json::is_object, "an object");
  if (given == nullptr) {
    return {};
  }
  require_value(given->size() == 1, "structured_outputs",
                "expected one of json, json_object, regex, choice and grammar");
  const auto& [kind, value] = given->members().front();
  if (kind == "json") {
    return {.schema = value.is_string() ? parse_json(value.text(), "structured_outputs") : value};
  }
  if (kind == "json_object" && value == Json(true)) {
    return {.schema = {{"type", "object"}}};
  }
  if (kind == "grammar" && value.is_string()) {
    return {.gbnf = value.text()};
  }
  if (kind == "regex" && value.is_string()) {
    return {.gbnf = grammar_of_regex(value.text())};
  }
  require_value(
      kind == "choice" && value.is_array() && !value.empty(), "structured_outputs",
      "expected json, json_object true, regex (a text), choice (a list of texts) or grammar (a "
      "text), got ",
      given->dump().substr(0, 100));
  AnswerFormat format{.gbnf = "root ::= "};
  for (const Json& choice : value) {
    require_value(choice.is_string(), "structured_outputs", "expected texts as choices, got ",
                  choice.type_name());
    format.gbnf += (format.gbnf.ends_with("= ") ? "" : " | ") + gbnf_literal(choice.text());
  }
  return format;
}

}  // namespace

AnswerFormat read_format(Fields& fields) {
  std::vector<AnswerFormat> formats{read_response_format(fields),
                                    read_structured_outputs(fields),
                                    {.gbnf = fields.text("grammar", "")}};
  if (const Json* schema = fields.find("json_schema")) {
    formats.push_back({.schema = *schema});
  }
  std::erase_if(formats, [](const AnswerFormat& format) { return format.is_any(); });
  require_value(formats.size() <= 1, "grammar",
                "expected one of grammar, json_schema, structured_outputs and response_format");
  return formats.empty() ? AnswerFormat() : formats.front();
}

std::shared_ptr<const Grammar> grammar_of(const AnswerFormat& format, const WorkBudget& budget) {
  if (format.is_any()) {
    return nullptr;
  }
  return std::make_shared<Grammar>(
      format.schema.is_null() ? format.gbnf
                              : json_schema_grammar(format.schema, {{"root", "#"}}, budget));
}

}  // namespace headlight::serve
