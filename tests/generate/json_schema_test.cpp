#include "generate/grammar/regular_expression.h"
#include "generate/grammar_rows.h"
#include "generate/json_schema/json_schema_grammar.h"
#include "support/test.h"

namespace json_schema_test {
bool has_type(const Json& value, const std::string& type) {
  return type == "integer" ? value.is_number() && std::floor(value.number()) == value.number()
                           : type == value.type_name();
}

// Whether a value satisfies a schema: the definition of the keywords, written down once more.
class Validator {
 public:
  explicit Validator(Json root) : root_(std::move(root)) {}

  bool accepts(const Json& value) const { return accepts(root_, value); }

 private:
  bool accepts(const Json& schema, const Json& value) const {
    if (schema.is_boolean()) {
      return schema.boolean();
    }
    return accepts_value(schema, value) && accepts_choices(schema, value) &&
           accepts_members(schema, value) && accepts_items(schema, value);
  }

  bool accepts_value(const Json& schema, const Json& value) const {
    const Json types = schema.value("type", Json::array());
    bool ok = types.empty();
    for (const Json& type : types.is_array() ? types : Json::array({types})) {
      ok = ok || has_type(value, type.text());
    }
    const auto number = [&](const char* key, double fallback) {
      return schema.value(key, fallback).number();
    };
    if (value.is_number()) {
      ok = ok && value.number() >= number("minimum", -1e300) &&
           value.number() <= number("maximum", 1e300) &&
           value.number() > number("exclusiveMinimum", -1e300) &&
           value.number() < number("exclusiveMaximum", 1e300);
    }
    if (value.is_string()) {
      const auto length = static_cast<double>(character_count(value.text()));
      ok = ok && length >= number("minLength", 0) && length <= number("maxLength", 1e9);
    }
    if (schema.contains("const")) {
      ok = ok && schema["const"] == value;
    }
    return ok;
  }

  bool accepts_choices(const Json& schema, const Json& value) const {
    const auto matching = [&](const char* key) {
      std::size_t count = 0;
      for (const Json& choice : schema.value(key, Json::array())) {
        count += accepts(choice, value) ? 1 : 0;
      }
      return count;
    };
    bool listed = !schema.contains("enum");
    for (const Json& one : schema.value("enum", Json::array())) {
      listed = listed || one == value;
    }
    return listed && (!schema.contains("anyOf") || matching("anyOf") > 0) &&
           (!schema.contains("oneOf") || matching("oneOf") == 1) &&
           matching("allOf") == schema.value("allOf", Json::array()).size() &&
           (!schema.contains("$ref") || accepts(target(schema["$ref"].text()), value));
  }

  bool accepts_members(const Json& schema, const Json& value) const {
    if (!value.is_object()) {
      return true;
    }
    const Json properties = schema.value("properties", Json::object());
    for (const JsonMember& member : value.members()) {
      const Json* property = properties.find(member.key);
      if (!accepts(property != nullptr ? *property : schema.value("additionalProperties", true),
                   member.value)) {
        return false;
      }
    }
    const Json required = schema.value("required", Json::array());
    return std::all_of(required.begin(), required.end(),
                       [&](const Json& name) { return value.contains(name.text()); });
  }

  bool accepts_items(const Json& schema, const Json& value) const {
    if (!value.is_array()) {
      return true;
    }
    const Json first = schema.value("prefixItems", Json::array());
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!accepts(i < first.size() ? first[i] : schema.value("items", true), value[i])) {
        return false;
      }
    }
    const auto size = static_cast<Index>(value.size());
    return size >= schema.value("minItems", 0).integer() &&
           size <= schema.value("maxItems", 1'000'000).integer();
  }

  const Json& target(const std::string& pointer) const {
    return pointer == "#" ? root_ : root_["$defs"][pointer.substr(std::string("#/$defs/").size())];
  }

  Json root_;
};

// Draws schemas.
class Schemas {
 public:
  explicit Schemas(unsigned seed) : random_(seed) {}

  Json root() {
    Json schema = Json::object();
    schema.add("title", "drawn");
    schema.add("anyOf", Json::array({any(3), any(2)}));
    schema.add("$defs", {{"tree", object(1)}, {"leaf", any(0)}});
    return schema;
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  Json any(int depth) {
    switch (below(depth > 0 ? 13 : 6)) {
      case 0:
        return text();
      case 1:
        return number(true);
      case 2:
        return number(false);
      case 3:
        return {{"type", Json::array({"null", "boolean", "integer"})}, {"minimum", -2}};
      case 4:
        return {{"enum", Json::array({"a\"\n\\", 1.5, nullptr, "é", Json::array({1, 2}), -7})}};
      case 5:
        return {{"const", below(2) == 0 ? Json("fixed") : Json(12)}};
      case 6:
        return {{"anyOf", Json::array({any(depth - 1), any(depth - 1)})}};
      case 7:
        return {{"oneOf", Json::array({text(), number(false), {{"type", "boolean"}}})}};
      case 8:
        return {{"$ref", below(2) == 0 ? "#/$defs/tree" : "#/$defs/leaf"}};
      case 9:
        return all_of(depth);
      case 10:
        return list(depth);
      default:
        return object(depth);
    }
  }

  Json text() {
    Json schema{{"type", "string"}};
    const int least = below(4);
    if (below(2) == 0) {
      schema.add("minLength", least);
    }
    if (below(2) == 0) {
      schema.add("maxLength", least + below(5));
    }
    return schema;
  }

  Json number(bool integer) {
    Json schema{{"type", integer ? "integer" : "number"}};
    const int least = below(3000) - 1500;
    if (below(2) == 0) {
      schema.add(integer && below(2) == 0 ? "exclusiveMinimum" : "minimum", least);
    }
    if (below(2) == 0) {
      schema.add(integer && below(2) == 0 ? "exclusiveMaximum" : "maximum",
                 least + 2 + below(below(2) == 0 ? 20 : 2000));
    }
    return schema;
  }

  Json list(int depth) {
    Json schema{{"type", "array"}};
    const int least = below(3);
    if (below(2) == 0) {
      schema.add("minItems", least);
    }
    if (below(2) == 0) {
      schema.add("maxItems", least + below(3));
    }
    if (below(3) == 0) {
      schema.add("prefixItems", Json::array({any(depth - 1), any(depth - 1)}));
    }
    if (below(3) > 0) {
      schema.add("items", any(depth - 1));
    }
    return schema;
  }

  Json object(int depth) {
    Json properties = Json::object();
    Json required = Json::array();
    for (const char* name : {"a", "ab", "b\"", "é", ""}) {
      if (below(2) == 0) {
        properties.add(name, depth > 0 ? any(depth - 1) : text());
        if (below(2) == 0) {
          required.push_back(name);
        }
      }
    }
    Json schema{{"type", "object"}, {"properties", properties}, {"required", required}};
    if (below(2) == 0) {
      schema.add("additionalProperties", below(2) == 0 ? Json(below(2) == 0) : number(true));
    }
    return schema;
  }

  Json all_of(int depth) {
    const Json left{{"properties", {{"left", any(depth - 1)}}},
                    {"required", Json::array({"left"})}};
    const Json right{{"type", "object"}, {"properties", {{"right", any(depth - 1)}}}};
    return {{"allOf", Json::array({left, right})}, {"type", Json::array({"object", "null"})}};
  }

  std::mt19937 random_;
};

TEST_CASE("a schema accepts the values that satisfy it, or is refused by name", "[generate]") {
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

TEST_CASE("generated texts satisfy random schemas", "[generate]") {
  const auto model = lively_model(257, 128, 1);
  Decoder decoder(*model);
  GenerateOptions options{.max_new_tokens = 250};
  options.sampling.logit_bias = {
      {.token = '"', .bias = 4}, {.token = '}', .bias = 4}, {.token = ']', .bias = 4}};
  int finished = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Json schema = Schemas(seed).root();
    options.grammar = std::make_shared<const Grammar>(json_schema_grammar(schema));
    options.sampling.seed = seed;
    const GenerateResult result = generate(decoder, ByteTokenizer(), "x", options);
    if (result.finish_reason != FinishReason::end_of_text) {
      continue;
    }
    INFO(schema.dump() << " gives " << result.text);
    CHECK(options.grammar->matches(result.text));
    try {
      CHECK(Validator(schema).accepts(parse_json(result.text, "text")));
      ++finished;
    } catch (const Error& error) {  // a grammar cannot compare the names of further properties
      CHECK_THAT(error.what(), contains_text("duplicate key"));
    }
  }
  CHECK(finished > 300);
}

TEST_CASE("schemas are combined in a time and memory that grow with their size", "[generate]") {
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

TEST_CASE("a schema is no longer read when its budget ends", "[generate]") {
  Json choices = Json::array();
  for (int i = 0; i < 2'000; ++i) {
    choices.push_back({{"type", "string"}, {"maxLength", i}});
  }
  const WorkBudget budget("body", 1e9, [] { return false; });
  CHECK_THROWS_WITH(json_schema_grammar({{"anyOf", choices}}, {{"root", "#"}}, budget),
                    "body: nobody waits for the result any more");
}

TEST_CASE("hostile schemas end soon with one error", "[generate][long]") {
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

TEST_CASE("a regular expression finds texts as other engines do", "[generate]") {
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
