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

TEST_CASE("a schema accepts the values that satisfy it", "[generate]") {
  struct Case {
    Json schema;
    std::vector<std::string> accepted;
    std::vector<std::string> refused;
  };
  const Json date{{"type", "string"}, {"format", "date"}};
  const Json time{{"format", "time"}};
  const std::vector<Case> cases{
      {true,
       {"1", "[]", R"({"a": [null, "\u00e9\ud83d\ude00"]})", "-1.5e-7"},
       {"", "01", "'a'", R"("\ud800")", "[1,]", "\"a\n\"", " 1", "1 "}},
      {{{"type", "object"}}, {"{}", R"({"a":1, "b": {}})", "{\n  \"a\": []\n}"}, {"[]", "{\n\n}"}},
      {{{"properties", {{"a", true}, {"b", {{"type", "null"}}}}}, {"required", Json::array({"b"})}},
       {R"({"b":null})", R"({"a": 1, "b": null})"},
       {"{}", R"({"a":1})", R"({"b":null,"a":1})"}},
      {{{"required", Json::array({"x"})}},
       {R"({"x":1})", R"({"x":1,"xy":2,"":0})"},
       {"{}", R"({"x":1,"x":2})", R"({"x":1,"\u0078":2})"}},
      {{{"type", "array"}, {"items", {{"const", 1}}}, {"minItems", 2}, {"maxItems", 3}},
       {"[1,1]", "[1, 1, 1]"},
       {"[]", "[1]", "[1,1,1,1]", "[1,2]"}},
      {{{"prefixItems", Json::array({{{"const", 1}}, {{"const", 2}}})}, {"items", false}},
       {"[]", "[1]", "[1,2]"},
       {"[2]", "[1,2,3]"}},
      {date,
       {"\"2024-02-29\"", "\"2000-02-29\"", "\"1999-12-31\""},
       {"\"2023-02-29\"", "\"1900-02-29\"", "\"2023-04-31\"", "\"2023-13-01\"", "\"2023-1-01\""}},
      {time, {"\"23:59:59Z\"", "\"00:00:00.5-08:30\""}, {"\"24:00:00Z\"", "\"12:00:00\""}},
      {{{"type", "integer"}, {"minimum", -12.5}, {"exclusiveMaximum", 305}},
       {"-12", "-1", "0", "9", "10", "99", "100", "299", "304"},
       {"-13", "-0", "305", "310", "1000", "1.0", "007"}},
      {{{"type", "number"}, {"minimum", -2}, {"maximum", 10}},
       {"-2", "-2.0", "-1.999", "-0.5", "0", "0.1", "9.99", "10.0"},
       {"-2.1", "10.1", "1e5", "11"}},
      {{{"enum", Json::array({1, "1", nullptr})}, {"type", "string"}}, {"\"1\""}, {"1", "null"}},
      {{{"oneOf",
         Json::array({{{"properties", {{"k", {{"const", "a"}}}, {"x", {{"type", "null"}}}}},
                       {"required", Json::array({"k", "x"})},
                       {"type", "object"}},
                      {{"properties", {{"k", {{"const", "b"}}}}},
                       {"required", Json::array({"k"})},
                       {"type", "object"}}})}},
       {R"({"k":"a","x":null})", R"({"k":"b"})"},
       {R"({"k":"a"})", R"({"k":"b","x":null})"}},
      {{{"$ref", "#/$defs/a~1b"},
        {"description", "a list"},
        {"$defs",
         {{"a/b", {{"type", Json::array({"array", "null"})}, {"items", {{"$ref", "#"}}}}}}}},
       {"null", "[]", "[null,[[]]]"},
       {"1", "[1]"}},
      {{{"type", "object"},
        {"properties", {{"a", {{"type", "null"}}}, {"b", {{"type", "null"}}}}},
        {"anyOf",
         Json::array({{{"required", Json::array({"a"})}}, {{"required", Json::array({"b"})}}})}},
       {R"({"a":null})", R"({"b":null})", R"({"a":null,"b":null})"},
       {"{}"}},
  };
  for (const Case& one : cases) {
    for (const std::string& text : one.accepted) {
      INFO(one.schema.dump() << " with " << text);
      CHECK(is_accepted(one.schema, text));
    }
    for (const std::string& text : one.refused) {
      INFO(one.schema.dump() << " with " << text);
      CHECK(!is_accepted(one.schema, text));
    }
  }
}

TEST_CASE("what a schema cannot express is refused by name", "[generate]") {
  const std::string unique =
      "json_schema: #: uniqueItems: a grammar can only compare items with listed values (enum, "
      "const, boolean or null)";
  const std::vector<std::pair<Json, std::string>> cases{
      {{{"pattern", R"((a)\1)"}},
       R"(json_schema: #: the pattern '(a)\1': '\1' cannot be expressed by a grammar)"},
      {{{"pattern", "a(?=b)"}},
       "json_schema: #: the pattern 'a(?=b)': '(?=' cannot be expressed by a grammar"},
      {{{"pattern", "[b-a]"}},
       "json_schema: #: the pattern '[b-a]': a range of characters ends before it begins"},
      {{{"properties", {{"a", {{"multipleOf", 0}}}}}},
       "json_schema: #/properties/a: multipleOf: expected a number above 0, got '0'"},
      {{{"multipleOf", 12'345}}, "json_schema: #: multipleOf: expected at most 2000, got 12345"},
      {{{"uniqueItems", true}}, unique},
      {{{"not", {{"multipleOf", 2}}}},
       "json_schema: #/not: not, if or oneOf: values that do not satisfy 'multipleOf' cannot be "
       "expressed"},
      {{{"minProperties", 2}},
       "json_schema: #: minProperties: a grammar cannot count names that the schema does not list"},
      {{{"type", "any"}},
       "json_schema: #: type: expected object, array, string, number, integer, "
       "boolean or null, got '\"any\"'"},
      {{{"$ref", "#/x"}}, "json_schema: #: $ref: the schema has no '#/x'"},
      {{{"$ref", "http://x"}}, "json_schema: #: $ref: the schema has no 'http://x'"},
      {{{"items", false}, {"minItems", 1}}, "json_schema: #: minItems: expected at most 0"},
      {{{"minLength", 3}, {"maxLength", 2}},
       "json_schema: #: maxLength: expected at least minLength"},
      {{{"minLength", -1}}, "json_schema: #: minLength: expected a whole number from 0, got '-1'"},
      {{{"type", "integer"}, {"minimum", 3}, {"maximum", 2}},
       "json_schema: #: no number satisfies the limits"},
      {{{"pattern", "^a$"}, {"minLength", 2}},
       "json_schema: #: no text satisfies pattern, format and lengths"},
      {{{"allOf", Json::array({{{"type", "string"}}, {{"type", "null"}}})}},
       "json_schema: #: no value is allowed"},
      {{{"required", Json::array({"a"})}, {"additionalProperties", false}},
       "json_schema: #: required: 'a' is no property"},
      {false, "json_schema: #: no value is allowed"},
      {1, "json_schema: #: expected a schema, got number"},
      {{{"$ref", "#"}}, "json_schema: #: the schema is a part of itself"},
      {{{"allOf", Json::array({{{"$ref", "#"}}})}},
       "json_schema: #: the schema is a part of itself"},
      {{{"properties", {{"a", {{"$ref", "#"}}}}}, {"required", Json::array({"a"})}},
       "grammar: no text matches the rule 'root'"},
  };
  for (const auto& [schema, message] : cases) {
    INFO(schema.dump());
    CHECK(refusal(schema) == message);
  }
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

TEST_CASE("hostile schemas end soon with one error", "[generate]") {
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
}  // namespace json_schema_test
