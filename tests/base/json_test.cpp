#include "base/json.h"
#include "support/test.h"

std::string parse_error(const std::string& text) {
  return error_of([&] { parse_json(text, "a.json"); });
}

// Returns a value of every kind, as Json or as the library's type.
template <class AnyJson>
AnyJson sample() {
  AnyJson value{{"z", 1},
                {"a", {1, 2.5, "x"}},
                {"pairs", {{"x", 1}, {"y", true}}},
                {"texts", {"x", "y"}},
                {"one", {"x"}},
                {"none", nullptr}};
  value["inner"]["deep"] = {{"low", 1e20F}, {"high", 0.1F}, {"tiny", 5e-324}};
  value["list"].push_back({{"k", 5U}});
  value["list"].push_back({1, "a"});
  value["empty"] = {AnyJson::array(), AnyJson::object()};
  value["vector"] = std::vector<std::string>{"a", "b"};
  value["array"] = std::array<float, 2>{0.3F, -0.0F};
  value["map"] = std::map<std::string, std::string>{{"q", "r"}};
  value["numbers"] = {
      std::numeric_limits<double>::quiet_NaN(), 1e15, 1e16, 123456789.0, -7, 18446744073709551615U};
  value["escapes"] = "a\x01\x7f\"\\/\n\xED\x95\x9C<";
  value.update({{"z", 3}, {"new", std::string_view("view")}});
  return value;
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST_CASE("checked JSON keeps values, types and nesting") {
  const Json value = parse_json(
      R"( {"a": [1, -2, 2.5, true, null, "x\n"], "b": {"c": {}, "d": []}, "c": 18446744073709551615} )",
      "a.json");
  CHECK(value.size() == 3);
  CHECK(value["a"].size() == 6);
  CHECK(value["a"][0].is_natural());
  CHECK(value["a"][1] == -2);
  CHECK(value["a"][2] == 2.5);
  CHECK(value["a"][3] == true);
  CHECK(value["a"][4].is_null());
  CHECK(value["a"][5] == "x\n");
  CHECK(value["b"]["c"].is_object());
  CHECK(value["b"]["d"].is_array());
  CHECK(value["c"] == 18446744073709551615U);
  CHECK(parse_json("7", "a.json") == 7);
}

TEST_CASE("whole numbers beyond 64 bits keep their digits") {
  const std::string text =
      R"({"a":[98765432109876543210,-98765432109876543210,18446744073709551615],"b":{"c":1.5,"d":[]}})";
  const Json value = parse_json(text, "t");
  CHECK(value.dump() == text);
  CHECK(value.dump(2) ==
        "{\n  \"a\": [\n    98765432109876543210,\n    -98765432109876543210,\n"
        "    18446744073709551615\n  ],\n  \"b\": {\n    \"c\": 1.5,\n    \"d\": []\n"
        "  }\n}");
  CHECK(value["a"][0].is_number());
  CHECK(value["a"][0].number() == 98765432109876543210.0);
  CHECK_FALSE(value["a"][0].is_integer());
  CHECK_FALSE(value["a"][0].is_natural());
  CHECK(value["a"][0] == Json(98765432109876543210.0));
  CHECK(value["a"][0] != value["a"][1]);
}

TEST_CASE("a key that an object holds twice is refused with its place") {
  CHECK(parse_error(R"({"a": 1, "a": 1})") == "a.json: duplicate key 'a'");
  CHECK(parse_error(R"({"top": {"in": [{"a": 1, "b": 2, "a": 3}]}})") ==
        "a.json: duplicate key 'a' in 'top'");
  CHECK(parse_error(R"({"a\n": 1, "a\n": 1})") == "a.json: duplicate key 'a\\x0a'");
  CHECK(parse_json(R"([{"a": 1}, {"a": 2}])", "a.json").size() == 2);
}

TEST_CASE("a key may have 65536 bytes and no more") {
  const auto with_key = [](std::size_t bytes) {
    return "{\"" + std::string(bytes, 'k') + "\": 1}";
  };
  CHECK(parse_error(with_key(65536)) == "no error");
  CHECK(parse_error(with_key(65537)) ==
        "a.json: key '" + std::string(80, 'k') + "...' is longer than 65536 bytes");
}

TEST_CASE("JSON may be nested 64 deep and no deeper") {
  CHECK(parse_error(nested(64)) == "no error");
  CHECK(parse_error(nested(65)) == "a.json: JSON is nested deeper than 64");
  CHECK(contains(parse_error(nested(100000)), "nested deeper"));
  CHECK(contains(parse_error(std::string(100000, '[')), "nested deeper"));
}

TEST_CASE("text that is not JSON is an error of one line with file and byte") {
  CHECK(parse_error("{\"a\" 1}") == "a.json: invalid JSON at byte 5: unexpected number literal");
  CHECK(parse_error("") == "a.json: invalid JSON at byte 0: unexpected end of input");
  CHECK(parse_error(std::string("{}\0garbage", 10)) == "a.json: invalid JSON at byte 2: zero byte");
  for (const std::string text :
       {"{} x", "{\"a\": 1", "{\"a\": 1e400}", "\"\xFF\"", "\"\xC0\xAF\"", "\"\\ud800\"",
        "\"a\nb\"", "[1,]", "[01]", "NaN", "{'a': 1}", "/* */ 1", "tru"}) {
    CAPTURE(text);
    const std::string error = parse_error(text);
    CHECK(error.starts_with("a.json: invalid JSON at byte "));
    CHECK_FALSE(contains(error, "\n"));
  }
  CHECK(parse_error("[\"" + std::string(1000000, 'x')).size() < 200);
}

TEST_CASE("members of an object are passed on one by one in their order") {
  std::vector<std::string> seen;
  parse_json_members(
      R"({"b": {"x": [1, 2]}, "a": 5, "c": [[], {}]})", "a.json",
      [&](const std::string& key, Json& value) { seen.push_back(key + "=" + value.dump()); });
  CHECK(seen == std::vector<std::string>{R"(b={"x":[1,2]})", "a=5", "c=[[],{}]"});
}

TEST_CASE("passing members on one by one refuses what parsing the whole text refuses") {
  std::size_t calls = 0;
  const auto members = [&](const std::string& text) {
    calls = 0;
    return error_of(
        [&] { parse_json_members(text, "a.json", [&](const std::string&, Json&) { ++calls; }); });
  };
  CHECK(members("{}") == "no error");
  CHECK(calls == 0);
  CHECK(members(R"({"a": 1, "b": 2, "a": 3})") == "a.json: duplicate key 'a'");
  CHECK(calls == 2);
  CHECK(members("[1]") == "a.json: expected a JSON object");
  CHECK(members("1") == "a.json: expected a JSON object");
  CHECK(contains(members("{\"a\": " + nested(64) + "}"), "nested deeper"));
  CHECK(contains(members("{\"a\": 1"), "invalid JSON"));
}

TEST_CASE("one member may hold 65536 values, itself included") {
  const auto with_values = [](std::size_t count) {
    std::string text = "{\"first\": 0, \"a\": [0";
    for (std::size_t i = 2; i < count; ++i) {
      text += ",0";
    }
    return text + "], \"last\": 0}";
  };
  const auto ignore = [](const std::string&, Json&) {};
  CHECK_NOTHROW(parse_json_members(with_values(65536), "a.json", ignore));
  CHECK_THROWS_AS(parse_json_members(with_values(65537), "a.json", ignore), Error);
}

TEST_CASE("values are built and written as json builds and writes them") {
  const Json value = sample<Json>();
  const auto expected = sample<nlohmann::ordered_json>();
  CHECK(value.dump() == expected.dump());
  CHECK(value.dump(1) == expected.dump(1));
  CHECK(parse_json(value.dump(2), "a.json").dump(2) == expected.dump(2));
}

TEST_CASE("bytes that are not UTF-8 are replaced or refused") {
  const std::string bytes = "a\xFF\xE2\x82z";
  const json expected = bytes;
  CHECK(Json(bytes).dump() == expected.dump(-1, ' ', false, json::error_handler_t::replace));
  CHECK(error_of([&] { return Json(bytes).dump(-1, Json::BadUtf8::refused); }) ==
        "a text is not UTF-8");
}

TEST_CASE("equal values have equal numbers and members in any order") {
  CHECK(Json(1) == Json(1.0));
  CHECK(Json(-1) != Json(18446744073709551615U));
  CHECK(Json(1) != Json(-1));
  CHECK(Json{{"a", 1}, {"b", {1, 2}}} == Json{{"b", {1.0, 2}}, {"a", 1U}});
  CHECK(Json{{"a", 1}} != Json{{"b", 1}});
  CHECK(Json{{"a", nullptr}} != Json::object());
  CHECK(Json() != Json(false));
  CHECK(Json(1) != Json("1"));
}

TEST_CASE("a whole number of at least 0 may not be written as -0") {
  CHECK_FALSE(parse_json("-0", "a.json").is_natural());
  CHECK(parse_json("-0", "a.json") == 0);
  CHECK(parse_json("0", "a.json").is_natural());
}

TEST_CASE("a copy is a value of its own and a moved value is left null") {
  Json value{{"a", {1, 2}}};
  Json copy = value;
  copy["a"].push_back(3);
  CHECK(value == Json{{"a", {1, 2}}});
  const Json taken = std::move(copy);
  CHECK(taken["a"].size() == 3);
  value = value["a"];
  CHECK(value == Json{1, 2});
}

TEST_CASE("reading a JSON value as the wrong type throws an error that names its type") {
  const Json value{{"text", "x"}, {"half", 0.5}};
  CHECK(error_of([&] { return value["text"].integer(); }) == "expected a whole number, got string");
  CHECK(error_of([&] { return value["half"].integer(); }) == "expected a whole number, got number");
  CHECK(error_of([&] { return Json(18446744073709551615U).integer(); }) ==
        "expected a whole number, got number");
  check_error([&] { return Json(-1).natural(); }, {"expected a whole number from 0, got number"});
  CHECK(error_of([&] { return value["text"].number(); }) == "expected a number, got string");
  CHECK(error_of([&] { return value.text(); }) == "expected a text, got object");
  CHECK(error_of([&] { return value.boolean(); }) == "expected true or false, got object");
  CHECK(error_of([&] { return value.begin(); }) == "expected a list, got object");
  CHECK(error_of([&] { return value["text"]["x"].size(); }) == "expected an object, got string");
  CHECK(error_of([&] { return value["other"].size(); }) == "key \"other\" is missing");
  CHECK(value.find("other") == nullptr);
  CHECK(Json(1).find("other") == nullptr);
  CHECK(value.value("other", 7) == 7);
}

TEST_CASE("a repeated key is found among many", "[long]") {
  const std::string text =
      "{" + joined(50000, [&](int i) {
        return "\"a key " + std::to_string(i) + "\": " + std::to_string(i) + ", ";
      });
  CHECK(parse_json(text + "\"last\": 1}", "a.json").size() == 50001);
  CHECK(parse_error(text + "\"a key 5\": 1}") == "a.json: duplicate key 'a key 5'");
}

TEST_CASE("members of a large object keep their order and are found by their keys") {
  Json object;
  for (int i = 0; i < 10'000; ++i) {
    const int key = i * 7919 % 10'000;  // every number once
    object[std::to_string(key)] = key;
    if (i % 997 == 0) {  // at many sizes of the index
      CHECK(object.members().back().key == std::to_string(key));
      CHECK(object.find(std::to_string(key + 10'000)) == nullptr);
    }
  }
  REQUIRE(object.size() == 10'000);
  Json copy = object;
  object["x"] = 1;
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE(copy[std::to_string(i)] == i);
  }
  CHECK(copy.members()[1].key == "7919");
  CHECK(!copy.contains("x"));
  Json twice = Json::object();
  for (int i = 0; i < 100; ++i) {
    twice.add("same", i);
  }
  CHECK(twice["same"] == 0);  // the first
}

TEST_CASE("parsing ends when its budget does") {
  const std::string text = "[" + std::string(10'000, ' ') + "1" + repeated(",1", 5'000) + "]";
  int checks = 0;
  const WorkBudget left("body", 1e9, [&] { return ++checks < 3; });
  CHECK(error_of([&] { parse_json(text, "body", left); }) ==
        "body: nobody waits for the result any more");
  CHECK(checks == 3);
  const WorkBudget late("body", 0, [] { return true; });
  CHECK(error_of([&] { parse_json(text, "body", late); }) ==
        "body: takes longer than 0 seconds to read: ask for less at once");
  CHECK(parse_json("[1]", "body", late).size() == 1);  // few values are never refused
  CHECK(parse_json(text, "body").size() == 5'001);
}

TEST_CASE("a text that is not JSON gives no value") {
  CHECK(try_parse_json("[1]") == Json{1});
  CHECK_FALSE(try_parse_json("[1").has_value());
}
