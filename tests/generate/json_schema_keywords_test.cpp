#include "generate/grammar/regular_expression.h"
#include "generate/json_schema/json_schema_grammar.h"
#include "support/test.h"

namespace json_schema_keywords_test {
using Texts = std::vector<std::string>;

struct SchemaTexts {
  const char* schema;
  Texts accepted;
  Texts refused;
};

void check_texts(const std::vector<SchemaTexts>& cases) {
  for (const SchemaTexts& one : cases) {
    INFO(one.schema);
    const Grammar grammar(json_schema_grammar(std::string_view(one.schema)));
    for (const std::string& text : one.accepted) {
      INFO(text);
      CHECK(grammar.matches(text));
    }
    for (const std::string& text : one.refused) {
      INFO(text);
      CHECK(!grammar.matches(text));
    }
  }
}

TEST_CASE("numbers keep to fractional limits and multiples", "[generate]") {
  check_texts({
      {R"({"type": "number", "minimum": 0.5, "exclusiveMaximum": 2.25})",
       {"0.5", "0.50", "1", "2.2499", "2"},
       {"0.49", "2.25", "2.250", "-1", "0", "12", "2.3", "5e-1"}},
      {R"({"type": "number", "exclusiveMinimum": -1.5, "maximum": 0.25})",
       {"-1.4", "-1.49999", "-0.5", "0", "0.25", "0.2500"},
       {"-1.5", "-1.50", "-2", "0.26", "1", "-11"}},
      {R"({"type": "number", "exclusiveMinimum": 1e-7})",
       {"0.0000002", "3"},
       {"0.0000001", "0", "-1"}},
      {R"({"type": "integer", "minimum": 1.5, "maximum": 1e3})",
       {"2", "999", "1000"},
       {"1", "1001", "2.0"}},
      {R"({"type": "integer", "minimum": 3, "exclusiveMinimum": true})", {"4"}, {"3", "2", "-4"}},
      {R"({"type": "integer", "maximum": 12345678901234567890})", {"999999999999999999"}, {}},
      {R"({"multipleOf": 7, "type": "integer"})", {"0", "7", "-14", "700"}, {"8", "-6", "07"}},
      // A division of doubles gives 7.000000000000001 for 0.07.
      {R"({"multipleOf": 0.01})",
       {"0.03", "0.25", "12.5", "-1.50", "400"},
       {"0.07", "0.001", "0.251"}},
      {R"({"multipleOf": 2.5, "minimum": 5, "maximum": 100})",
       {"5", "7.5", "100"},
       {"2.5", "6", "102.5"}},
      {R"({"allOf": [{"multipleOf": 4}, {"multipleOf": 6}], "maximum": 30, "minimum": 1})",
       {"12", "24"},
       {"4", "6", "0", "36"}},
  });
}

TEST_CASE("texts match patterns, formats and lengths", "[generate]") {
  check_texts({
      {R"({"pattern": "^[a-z]{2}-\\d+$"})",
       {R"("ab-1")", R"("zz-007")"},
       {R"("ab-")", R"("xab-1")", "1"}},
      {R"({"pattern": "b|^c", "maxLength": 3})",
       {R"("abc")", R"("cxx")", R"("b")"},
       {R"("xc")", R"("abcd")"}},
      {R"({"pattern": "^\"\\\\\n$"})", {R"("\"\\\n")"}, {R"("\"\\")"}},
      {R"({"pattern": "^(?=.*[a-z])(?=.*\\d)(?!a).{4,5}$"})",
       {R"("b123")", R"("12c45")"},
       {R"("bcde")", R"("a123")", R"("1b2")"}},
      {R"({"allOf": [{"pattern": "^a"}, {"pattern": "z$"}], "minLength": 2})",
       {R"("az")", R"("a-z")"},
       {R"("a")", R"("za")"}},
      {R"({"type": "string", "not": {"pattern": "^a"}})",
       {R"("b")", R"("")"},
       {R"("a")", R"("ab")"}},
      {R"({"pattern": "^\\S$"})", {R"("가")", R"("x")"}, {R"(" ")", R"("\t")"}},
      {R"({"format": "email"})", {R"("a.b@c-d.org")"}, {R"("a@b")", R"("@b.org")"}},
      {R"({"format": "ipv4"})", {R"("0.25.199.255")"}, {R"("256.1.1.1")", R"("01.1.1.1")"}},
      {R"({"format": "ipv6"})",
       {R"("::1")", R"("1:2:3:4:5:6:7:8")", R"("fe80::a:1")"},
       {R"("1::2::3")", R"("1:2:3")"}},
      {R"({"format": "uri"})",
       {R"("https://a.b/c?d=%20#e")", R"("mailto:x@y.z")"},
       {R"("a b:c")", R"("/x")"}},
      {R"({"format": "duration"})",
       {R"("P1Y2M3DT4H5M6S")", R"("PT5M")", R"("P2W")"},
       {R"("P")", R"("P1YT")", R"("P1S")"}},
      {R"({"format": "date"})",
       {R"("0004-02-29")", R"("2000-02-29")"},
       {R"("0000-01-01")", R"("1900-02-29")"}},
      {R"({"format": "hostname", "maxLength": 5})", {R"("a-b.c")"}, {R"("-a")", R"("abcdef")"}},
      {R"({"type": "string", "format": "color-of-the-sky", "x-order": 3})", {R"("any")"}, {"1"}},
  });
}

TEST_CASE("objects keep to patterns and counts of their names", "[generate]") {
  check_texts({
      {R"({"patternProperties": {"^n": {"type": "null"}, "x$": {"const": 1}}, "additionalProperties": false})",
       {"{}", R"({"n":null})", R"({"ax":1,"na": null})"},
       {R"({"nx":1})", R"({"nx":null})", R"({"b":1})", R"({"n":1})"}},
      {R"({"properties": {"na": true}, "patternProperties": {"^n": {"type": "null"}}})",
       {R"({"na":null})"},
       {R"({"na":1})"}},
      {R"({"propertyNames": {"pattern": "^[ab]+$", "maxLength": 2}})",
       {R"({"ab":1})"},
       {R"({"abb":1})", R"({"c":1})"}},
      {R"({"properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "minProperties": 2, "maxProperties": 2})",
       {R"({"a":1,"c":3})", R"({"b":2,"c":3})"},
       {R"({"a":1})", R"({"a":1,"b":2,"c":3})"}},
      {R"({"required": ["a^]-[\\"], "additionalProperties": {"const": 1}})",
       {R"({"a^]-[\\":1,"b":1})"},
       {R"({"b":1})", R"({"a^]-[\\":1,"a^]-[\\":1})"}},
      {R"({"properties": {"a": {"const": 1}, "b": {"const": 2}}, "dependentRequired": {"a": ["b"]}})",
       {"{}", R"({"b":2})", R"({"a":1,"b":2})"},
       {R"({"a":1})"}},
      {R"({"allOf": [{"properties": {"a": {"const": 1}}}], "properties": {"b": {"const": 2}}, "unevaluatedProperties": false})",
       {R"({"b":2,"a":1})"},
       {R"({"c":1})"}},
      {R"({"properties": {"k": {"enum": ["x", "y"]}, "n": {"const": 1}}, "required": ["k"],
           "if": {"properties": {"k": {"const": "x"}}}, "then": {"required": ["n"]}})",
       {R"({"k":"y"})", R"({"k":"x","n":1})", R"({"k":"y","n":1})"},
       {R"({"k":"x"})"}},
  });
}

TEST_CASE("arrays contain and repeat what they may", "[generate]") {
  check_texts({
      {R"({"items": {"enum": [1, 2, 3]}, "uniqueItems": true, "minItems": 2})",
       {"[3,1]", "[1, 2,3]"},
       {"[1]", "[1,1]", "[1,2,3,1]"}},
      {R"({"items": {"enum": [1,2,3,4,5,6,7,8,9]}, "uniqueItems": true, "maxItems": 2})",
       {"[]", "[2,9]"},
       {"[2,2]", "[1,2,3]"}},
      {R"({"items": {"type": "integer"}, "contains": {"const": 5}, "maxContains": 1})",
       {"[5]", "[1,5,2]"},
       {"[]", "[1]", "[5,5]"}},
      {R"({"items": {"type": "boolean"}, "contains": {"const": true}, "minContains": 2, "maxItems": 3})",
       {"[true,false,true]", "[true,true]"},
       {"[true]", "[true,true,false,false]"}},
      {R"({"items": [{"const": 1}], "additionalItems": {"const": 2}})", {"[1,2,2]", "[]"}, {"[2]"}},
  });
}

TEST_CASE("a schema excludes values with not, oneOf and enum", "[generate]") {
  check_texts({
      {R"({"not": {"type": ["object", "array", "number", "string"]}})",
       {"true", "null"},
       {"1", "\"a\"", "{}"}},
      {R"({"oneOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "maximum": 8}]})",
       {"4", "9"},
       {"5", "8"}},
      {R"({"oneOf": [{"const": "a", "title": "A"}, {"enum": ["b", 1, "c"], "type": "string"}, {"const": "c"}]})",
       {R"("a")", R"("b")"},
       {R"("c")", "1"}},
      {R"({"type": "string", "not": {"enum": ["a", "a.c"]}})",
       {R"("b")", R"("abc")"},
       {R"("a")", R"("a.c")"}},
      {R"({"enum": [1, 2.5, 8, "a", [1]], "minimum": 2})", {"2.5", "8", "\"a\"", "[1]"}, {"1"}},
      {R"({"enum": ["ab", "abc", "x"], "pattern": "b", "maxLength": 2})",
       {R"("ab")"},
       {R"("abc")", R"("x")"}},
  });
}

TEST_CASE("references follow the addresses of schemas", "[generate]") {
  check_texts({
      {R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"x": {"const": 1}}, "properties": {"a": {"$id": "inner", "$ref": "#/$defs/x",
           "$defs": {"x": {"const": 2}}}}})",
       {R"({"a":2})"},
       {R"({"a":1})"}},
      {R"({"$id": "http://e.org/a/b.json", "$ref": "c.json#name", "$defs": {"c": {"$id": "/a/c.json",
           "$defs": {"d": {"$anchor": "name", "const": 3}}}}})",
       {"3"},
       {"4"}},
      {R"({"properties": {"next": {"$ref": "#"}, "v": {"const": 1}}, "required": ["v"]})",
       {R"({"next":{"v":1},"v":1})"},
       {R"({"next":{},"v":1})"}},
  });
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
}  // namespace json_schema_keywords_test
