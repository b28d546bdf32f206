#include "generate/grammar/regular_expression.h"
#include "generate/grammar_rows.h"
#include "generate/json_schema/json_schema_grammar.h"
#include "support/test.h"

namespace json_schema_test {
// tools/parity/json_schema.sh checks texts of these grammars with the package jsonschema.
TEST_CASE("a schema accepts the values that satisfy it, or is refused by name") {
  check_grammars("generate/json_schemas.txt", "json_schema: ", [](const std::string& schema) {
    return std::make_unique<const Grammar>(json_schema_grammar(std::string_view(schema)));
  });
  const char* endless = R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"]})";
  check_error([&] { Grammar{json_schema_grammar(std::string_view(endless))}; },
              {"grammar: no text matches the rule 'root'"});
}

bool is_accepted(const Json& schema, const std::string& text) {
  return Grammar(json_schema_grammar(schema)).matches(text);
}

std::string refusal(const Json& schema) {
  return error_of([&] { Grammar{json_schema_grammar(schema)}; });
}

TEST_CASE("schemas are combined in a time and memory that grow with their size") {
  const auto repeated = [](const Json& value, std::size_t count) {
    return Json(std::vector<Json>(count, value));
  };
  const Json many_names = [] {
    Json properties = Json::object();
    for (int i = 0; i < 3'000; ++i) {
      properties.add("name " + std::to_string(i), true);
    }
    return properties;
  }();
  Json numbers = Json::array();
  Json others = Json::array();
  for (int i = 0; i < 10'000; ++i) {
    numbers.push_back(i);
    others.push_back(i + 9'999.0);
  }
  const auto all_of = [](const Json& a, const Json& b) {
    return Json{{"allOf", Json::array({a, b})}};
  };
  const Json same{{"enum", repeated("x", 9'000)}};
  CHECK(is_accepted(all_of(same, same), "\"x\""));
  const Json types{{"type", repeated("string", 9'000)}};
  CHECK(is_accepted(all_of(types, types), "\"x\""));
  const Json common = all_of({{"enum", numbers}}, {{"enum", others}});
  CHECK(is_accepted(common, "9999"));  // as 9999.0
  CHECK(!is_accepted(common, "9998"));
  Json few = Json::array();
  Json next = Json::array();
  for (int i = 0; i < 1'000; ++i) {
    few.push_back(i);
    next.push_back(i + 999.0);
  }
  const Json one_of{{"oneOf", Json::array({{{"enum", few}}, {{"enum", next}}})}};
  CHECK(is_accepted(one_of, "998"));
  CHECK(!is_accepted(one_of, "999"));
  CHECK(refusal(all_of({{"properties", many_names}}, {{"properties", many_names}})) == "no error");
  Json closed{{"properties", many_names}, {"additionalProperties", false}};
  CHECK(refusal(all_of(closed, closed)) == "no error");
}

TEST_CASE("a schema is no longer read when its budget ends") {
  Json choices = Json::array();
  for (int i = 0; i < 2'000; ++i) {
    choices.push_back({{"type", "string"}, {"maxLength", i}});
  }
  const WorkBudget budget("body", 1e9, [] { return false; });
  CHECK_THROWS_WITH(json_schema_grammar({{"anyOf", choices}}, {{"root", "#"}}, budget),
                    "body: nobody waits for the result any more");
}

TEST_CASE("hostile schemas end soon with one error", "[long]") {
  Json doubling = Json::object();
  Json any_of = Json::object();
  for (int i = 0; i < 60; ++i) {
    const Json next{{"$ref", "#/$defs/" + std::to_string(i + 1)}};
    doubling.add(std::to_string(i), {{"allOf", Json::array({next, next})}});
    any_of.add(std::to_string(i), {{"minItems", 0}, {"anyOf", Json::array({next, next})}});
  }
  doubling.add("60", Json::object());
  any_of.add("60", Json::object());
  Json large = Json::array();
  for (int i = 0; i < 200'000; ++i) {
    large.push_back("some text " + std::to_string(i));
  }
  Json one_by_one = Json::array();  // work for each pair of a schema and a name
  Json all_evaluated = Json::array();
  Json ranges = Json::array();
  Json patterns = Json::object();
  for (int i = 0; i < 8'000; ++i) {
    ranges.push_back({{"minimum", -i}, {"maximum", 1'000'000 + i}});
  }
  for (int i = 0; i < 1'000; ++i) {
    one_by_one.push_back({{"properties", {{"k" + std::to_string(i), Json::object()}}}});
    all_evaluated.push_back({{"unevaluatedProperties", false}, {"prefixItems", Json::array({3})}});
    patterns.add("k" + std::to_string(i), Json::object());
  }
  const std::vector<Json> hostile{
      {{"allOf", one_by_one}},
      {{"allOf", ranges}},
      {{"allOf", all_evaluated}, {"properties", patterns}},
      {{"patternProperties", patterns}, {"properties", patterns}},
      {{"$defs", doubling}, {"allOf", Json::array({{{"$ref", "#/$defs/0"}}})}},
      {{"$defs", any_of}, {"minItems", 0}, {"$ref", "#/$defs/0"}},
      {{"enum", large}},
      {{"required", large}},
  };
  for (const Json& schema : hostile) {
    const std::string message = refusal(schema);
    INFO(schema.dump().substr(0, 100) << " gives " << message);
    CHECK((message.starts_with("json_schema: ") || message.starts_with("grammar: ")));
  }
}

TEST_CASE("a regular expression finds texts as other engines do") {
  const auto matches = [](const char* pattern, const char* text, PatternMatch match) {
    return pattern_language(pattern, match).contains(text);
  };
  constexpr auto kSurely = PatternMatch::surely;
  constexpr auto kPossibly = PatternMatch::possibly;
  CHECK(matches("(^a|b)c$", "ac", kSurely));
  CHECK(matches("(^a|b)c$", "xbc", kSurely));
  CHECK(!matches("(^a|b)c$", "xac", kSurely));
  CHECK(matches("^(?:a{2,3}?|[^\\W\\d])*$", "aab", kSurely));
  CHECK(!matches("^(?:aa){2}$", "aaaaa", kSurely));
  CHECK(matches("^a{$", "a{", kSurely));
  CHECK(!matches("^a$", "a\n", kSurely));  // Python's `$` matches before a last line end
  CHECK(matches("^a$", "a\n", kPossibly));
  CHECK(!matches("^\\w$", "é", kSurely));  // a letter in Python, not in ECMAScript
  CHECK(matches("^\\w$", "é", kPossibly));
  CHECK(!matches("^\\W$", "é", kSurely));
  CHECK(whole_language("a|bc").contains("bc"));
  CHECK(!whole_language("a|bc").contains("abc"));  // as re.fullmatch does
  CHECK(whole_language("^(?!ab)[abc]{2}$").contains("ba"));
  CHECK(!whole_language("^(?!ab)[abc]{2}").contains("abc"));
  CHECK_THROWS_AS(whole_language("a)|(b"), Error);
  CHECK_THROWS_AS(pattern_language("(a{1000}){1000}"), Error);
  CHECK_THROWS_AS(pattern_language(std::string(200, '(') + std::string(200, ')')), Error);
  std::string nested = "a";
  for (int i = 0; i < 60; ++i) {
    nested = "(" + nested + ")?";
  }
  CHECK(pattern_language("^" + nested + "$").contains(""));
}
}  // namespace json_schema_test
