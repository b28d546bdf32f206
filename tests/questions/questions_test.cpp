#include "questions/question.h"
#include "support/test.h"

// The rows of all questions, and what every front end checks by them.

TEST_CASE("a parameter has the same type and meaning in all questions") {
  std::map<std::string_view, const Parameter*> known;
  for (const Question* question : questions()) {
    for (const Parameter& parameter : question->parameters) {
      INFO(question->name << " " << parameter.name);
      const Parameter& first = *known.try_emplace(parameter.name, &parameter).first->second;
      CHECK(first.kind == parameter.kind);
      CHECK(first.help == parameter.help);
      CHECK(first.former == parameter.former);
      CHECK(first.least == parameter.least);
    }
  }
  for (const Question* question : questions()) {
    for (const Parameter& parameter : question->parameters) {
      for (const std::string_view former : parameter.former) {
        CHECK(std::ranges::count(question->parameters, former, &Parameter::name) == 0);
      }
    }
  }
}

TEST_CASE("the rows of questions name only what exists") {
  std::set<std::string_view> names;
  for (const Question* question : questions()) {
    const auto has = [&](std::string_view name) {
      return std::ranges::count(question->parameters, name, &Parameter::name) == 1;
    };
    INFO(question->name);
    for (const Parameter& parameter : question->parameters) {
      INFO(parameter.name);
      CHECK(has(parameter.name));
      CHECK((!parameter.help.ends_with('.') || parameter.help.ends_with("...")));
      CHECK(std::ranges::all_of(parameter.excludes, [&](std::string_view name) {
        return has(name) || name == question->chart;
      }));
      CHECK((parameter.unless.empty() || has(parameter.unless)));
      for (const std::string_view needs : parameter.needs) {
        CHECK(has(needs.substr(0, needs.find('='))));
      }
      const bool is_name = parameter.kind == ValueKind::name || parameter.kind == ValueKind::metric;
      CHECK((!is_name || !parameter.choices.empty()));
      CHECK((!is_name || parameter.fallback.is_null() ||
             std::ranges::count(parameter.choices, parameter.fallback.text()) == 1));
    }
    CHECK(std::ranges::all_of(question->positional, has));
    CHECK(names.insert(question->name).second);
  }
}

TEST_CASE("arguments are refused for their type, value, name or company") {
  const std::vector<Parameter> parameters{
      {.name = "text",
       .help = "",
       .kind = ValueKind::prompt,
       .is_required = true,
       .unless = "pairs"},
      {.name = "pairs", .help = "", .kind = ValueKind::records, .excludes = {"text"}},
      {.name = "count",
       .help = "",
       .kind = ValueKind::integer,
       .fallback = 3,
       .least = 1,
       .most = 9},
      {.name = "share", .help = "", .kind = ValueKind::number, .needs = {"mode=soft"}},
      {.name = "mode",
       .help = "",
       .kind = ValueKind::name,
       .fallback = "hard",
       .choices = {"hard", "soft"}},
      {.name = "answer", .help = "", .kind = ValueKind::answer, .former = {"token"}},
      {.name = "whole", .help = "", .kind = ValueKind::flag}};
  const auto refusal = [&](const char* body) {
    return error_of([&] { headlight::Arguments(parameters, parse_json(body, "test"), "--"); });
  };
  for (const auto& [body, message] : std::vector<std::pair<const char*, const char*>>{
           {R"({"text": 7})", "text: expected a text or a list of token ids, got 7"},
           {R"({"text": [1, "a"]})", "text: expected a text or a list of token ids, got a list"},
           {R"({})", "text: expected a text, or --pairs"},
           {R"({"text": "a", "pairs": []})", "pairs: cannot be combined with --text"},
           {R"({"text": "a", "count": 0})", "count: expected at least 1, got 0"},
           {R"({"text": "a", "count": 10})", "count: expected at most 9, got 10"},
           {R"({"text": "a", "count": 1.5})", "count: expected a whole number, got 1.5"},
           {R"({"text": "a", "count": "x\n"})", "count: expected a whole number, got 'x\\x0a'"},
           {R"({"text": "a", "mode": "sotf"})", "mode: expected hard or soft, got 'sotf'"},
           {R"({"text": "a", "share": 0.5})", "share: needs --mode soft"},
           {R"({"text": "a", "token": "x"})", "token: is now called --answer"},
           {R"({"text": "a", "anser": "x"})", "anser: is unknown here"},
           {R"({"text": "a", "whole": 1})", "whole: expected true or false, got 1"}}) {
    INFO(body);
    CHECK(contains(refusal(body), message));
  }
  const headlight::Arguments given(parameters,
                                   parse_json(R"({"text": [1, 2], "answer": null})", "test"));
  CHECK(given.integer("count") == 3);
  CHECK(given.text("mode") == "hard");
  CHECK_FALSE(given.given("answer"));
  CHECK_FALSE(given.flag("whole"));
}

TEST_CASE("a required output may have a fallback, and its question always writes") {
  const auto with_output = [](Json fallback, bool is_required) {
    return Parameter{.name = "out",
                     .help = "",
                     .kind = ValueKind::output,
                     .fallback = std::move(fallback),
                     .is_required = is_required};
  };
  const auto given = [](const Parameter& output) {
    const std::vector<Parameter> parameters{output};
    return headlight::Arguments(parameters, Json::object()).text("out");
  };
  CHECK(error_of([&] { given(with_output({}, true)); }) ==
        "out: expected a file or folder to write");
  CHECK(given(with_output("acts.npz", true)) == "acts.npz");
  CHECK(given(with_output({}, false)).empty());
  Question question{};
  question.parameters = {with_output("maps", false)};
  CHECK_FALSE(always_writes(question));
  question.parameters = {with_output("acts.npz", true)};
  CHECK(always_writes(question));
}

TEST_CASE("a result has its rows under their name, and its text has the strongest first") {
  QuestionResult result{.title = "t", .caution = "caution: few", .heading = "heading\n"};
  result.facts = {{"a", 1}};
  result.tables = {{.columns = {{"part", std::vector<std::string>{"x", "y"}, "part"},
                                {"share", std::vector{0.25, -0.5}, "value"}},
                    .ranking = Ranking::size,
                    .ranked_by = "share"},
                   {.key = "edges", .columns = {{"from", std::vector<std::string>()}}}};
  result.footing = "end\n";
  CHECK(facts_of(result) ==
        parse_json(R"({"caution": "caution: few", "a": 1, "edges": []})", "test"));
  Index pauses = 0;
  CHECK(json_of(result, "parts", [&] { ++pauses; })["parts"] ==
        parse_json(R"([{"part": "x", "share": 0.25}, {"part": "y", "share": -0.5}])", "test"));
  CHECK(pauses == 0);
  CHECK(text_of(result, 0) ==
        "caution: few\n\nheading\n\npart   value\ny     -0.500\nx     +0.250\nend\n");
  CHECK(text_of(result, 1) ==
        "caution: few\n\nheading\n\npart   value\ny     -0.500\n"
        "(the strongest 1 of 2; --limit 0 shows all)\nend\n");
  CHECK(page_of(result).note == "caution: few. heading");
  CHECK(contains(error_of([&] { figure_of(result); }), "no figure"));
}
