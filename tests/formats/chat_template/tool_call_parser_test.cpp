#include "formats/chat_template/tool_call_parser.h"
#include "support/models/published_templates.h"
#include "support/rows.h"
#include "support/test.h"

namespace tool_call_parser_test {

const ToolStyle& style_of_file(const std::string& name) {
  static std::map<std::string, const ToolStyle*> styles;
  const ToolStyle*& style = styles[name];
  style = style == nullptr ? tool_style_of(published_template(name)) : style;
  REQUIRE(style != nullptr);
  return *style;
}

// A model of each style.
const ToolStyle& hermes() { return style_of_file("qwen2_5"); }
const ToolStyle& mistral() { return style_of_file("mistral_nemo"); }
const ToolStyle& llama() { return style_of_file("llama3_1"); }
const ToolStyle& named() { return style_of_file("mistral_small_3_2"); }
const ToolStyle& parameters() { return style_of_file("qwen3_8"); }
const ToolStyle& granite() { return style_of_file("granite_3_3"); }

Json functions_f_g() {
  const char* f = R"({"properties": {"s": {"type": "string"}, "n": {"type": "integer"},
      "o": {"anyOf": [{"$ref": "#/$defs/s"}, {"type": "null"}]}}, "$defs": {"s": {"enum": ["7"]}}})";
  return Json::array({{{"name", "f"}, {"parameters", parse_json(f, "f")}}, {{"name", "g"}}});
}

// Returns the parts of an answer that arrives in pieces: "text|name(arguments)|...". Neighbouring
// texts are one, and so are the arguments of a call.
std::string parts_in_pieces(const ToolStyle& style, const std::string& answer, std::size_t piece,
                            ToolCallParser::Options options) {
  options.functions = functions_f_g();
  ToolCallParser parser(style, options);
  std::vector<AnswerPart> parts;
  const auto add = [&](std::vector<AnswerPart> more) {
    for (AnswerPart& part : more) {
      const bool joins = !part.call && !parts.empty() && !parts.back().call;
      joins ? parts.back().text += part.text : parts.emplace_back(std::move(part)).text;
    }
  };
  for (std::size_t i = 0; i < answer.size(); i += piece) {
    add(parser.push(std::string_view(answer).substr(i, piece)));
  }
  add(parser.finish());
  std::string shown;
  for (const AnswerPart& part : parts) {
    const bool continues = part.call && part.call->name.empty();
    shown += shown.empty() || continues ? "" : "|";
    shown += part.call ? part.call->name + part.call->arguments : part.text;
  }
  return shown;
}

std::string parts_of(const ToolStyle& style, const std::string& answer,
                     const ToolCallParser::Options& options = {.most_calls = 9}) {
  const std::string whole = parts_in_pieces(style, answer, answer.size() + 1, options);
  INFO(answer);
  for (const unsigned piece : {1U, 2U, 3U, 7U}) {
    CHECK(parts_in_pieces(style, answer, piece, options) == whole);
  }
  return whole;
}

TEST_CASE("complete calls of known functions are found, and all else stays text") {
  check_rows("formats/chat_template/tool_calls.txt", [](const Row& row) {
    std::string answer = row.given;
    for (std::size_t at = 0; (at = answer.find("\\n", at)) != std::string::npos; ++at) {
      answer.replace(at, 2, "\n");
    }
    const std::string parts = parts_of(style_of_file(row.group), answer);
    return parts == answer ? "stays text" : parts;
  });
}

TEST_CASE("blanks and beginnings of calls that are too long stay text") {
  for (const std::string& answer :
       {std::string(), "a" + std::string(5000, ' '),
        "<tool_call>{\"name\": \"" + std::string(ToolCallParser::kLongestCall + 50, 'x')}) {
    CHECK(parts_of(hermes(), answer) == answer);
  }
  CHECK(parts_of(named(), "[TOOL_CALLS]f[CALL_ID]" + std::string(246, '1') + "[ARGS]{}") == "f{}");
  CHECK(parts_of(named(), "[TOOL_CALLS]f[CALL_ID]" + std::string(247, '1') + "[ARGS]{}")
            .starts_with("[TOOL_CALLS]f[CALL_ID]1"));
}

TEST_CASE("arguments are given in pieces while they are generated") {
  const auto pieces = [](const ToolStyle& style, const std::string& answer) {
    ToolCallParser parser(style,
                          {.functions = functions_f_g(), .most_calls = 9, .in_pieces = true});
    std::string shown;
    const auto show = [&](const std::vector<AnswerPart>& parts) {
      for (const AnswerPart& part : parts) {
        shown += part.call ? part.call->name + '(' + part.call->arguments + ')' : part.text;
      }
    };
    for (std::size_t i = 0; i < answer.size(); i += 8) {
      show(parser.push(std::string_view(answer).substr(i, 8)));
    }
    show(parser.finish());
    return shown;
  };
  CHECK(pieces(hermes(),
               R"(<tool_call>{"name": "f", "arguments": {"a": "}{", "b": [1]}}</tool_call>)") ==
        R"(f({")(a": "}{")(, "b": [)(1]}))");
  CHECK(pieces(hermes(), R"(<tool_call>{"arguments": {"a": 1}, "name": "f"}</tool_call>)") ==
        R"(f({"a":1}))");
  CHECK(pieces(named(), R"([TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{})") ==
        R"(f({"a":)( 1})g({}))");
  CHECK(pieces(parameters(),
               "<tool_call><function=f><parameter=n>1</parameter><parameter=s>a "
               "b</parameter></function></tool_call>") == R"(f({"n": 1)(, "s": "a b")(}))");
  // A part of a call that was given cannot become text again.
  CHECK(pieces(hermes(), R"(<tool_call>{"name": "f", "arguments": {"a": 1)") == R"(f({")(a": 1))");
  CHECK(pieces(hermes(), R"(<tool_call>{"name": "h", "arguments": {"a": 1)") ==
        R"(<tool_call>{"name": "h", "arguments": {"a": 1)");
  CHECK(pieces(parameters(), "<tool_call><function=f><parameter=n>1</parameter>oops") ==
        R"(f({"n": 1})oops)");
}

TEST_CASE("calls beyond the limit and the text after them are dropped") {
  CHECK(parts_of(llama(), "{\"name\": \"f\"}; {\"name\": \"g\"}", {.most_calls = 1}) == "f{}");
  CHECK(parts_of(hermes(), "{\"name\": \"f\"}\n</tool_call> more",
                 {.has_begun = true, .most_calls = 1}) == "f{}");
  CHECK(parts_of(hermes(), "{\"name\": \"f\"", {.has_begun = true}) == "{\"name\": \"f\"");
}

TEST_CASE("random fragments of calls give the same parts in any pieces", "[long]") {
  std::vector<std::string> fragments = split_words(
      "<tool_call> </tool_call> [TOOL_CALLS] [ARGS] [CALL_ID] <function= <function=f> f g> "
      "</function> <parameter=s> <parameter=a> </parameter> f[ARGS] {} { } }} [ ] , < </ ; \" \\ x "
      "<|tool_call|> <|python_tag|>");
  for (const char* more : {" ", "\n", R"({"name": "f"})", R"({"name": "f", "arguments": {)",
                           R"({"name": "g", "arguments": {"a": "}"}})", R"("name": "f")"}) {
    fragments.emplace_back(more);
  }
  std::mt19937 random(7);
  const auto below = [&](std::size_t count) { return random() % count; };
  for (const ToolStyle* style :
       {&hermes(), &mistral(), &llama(), &named(), &parameters(), &granite()}) {
    for (int i = 0; i < 400; ++i) {
      std::string answer(i % 2 == 0 ? style->begin : "");
      for (auto left = below(12); left > 0; --left) {
        const std::string& one = fragments[below(fragments.size())];
        answer += below(4) == 0 ? one.substr(0, 1 + below(one.size())) : one;
      }
      parts_of(*style, answer,
               {.has_begun = i % 3 == 0, .most_calls = 1 + below(9), .in_pieces = i % 4 < 2});
    }
  }
}

TEST_CASE("the style of tool calls is recognised from the templates of models") {
  std::map<const ToolStyle*, std::string> found;
  for (const PublishedTemplate& one : published_templates()) {
    if (const ToolStyle* style = tool_style_of(one.source)) {
      found[style] += one.name + ' ';
    }
  }
  const auto has = [&](const ToolStyle& style, const std::vector<std::string>& names) {
    INFO(style.begin << ": " << found[&style]);
    CHECK(std::count(found[&style].begin(), found[&style].end(), ' ') == std::ssize(names));
    for (const std::string& name : names) {
      CHECK_THAT(found[&style], contains_text(name + ' '));
    }
  };
  has(hermes(), {"exaone4", "falcon_h1", "hermes_3_tool_use", "qwen2_5", "qwen3",
                 "qwen3_generation_tag", "qwen3_instruct_2507", "qwq"});
  has(mistral(), {"mistral_nemo", "mistral_v2v3", "mistral_v3_tekken"});
  has(llama(), {"llama3_1", "llama3_2", "llama3_2_vision", "llama4"});
  has(named(), {"devstral", "mistral_small_3_2"});
  has(parameters(), {"nemotron_3_nano", "qwen3_8"});
  has(granite(), {"granite_3_3"});
  CHECK(tool_style_of("") == nullptr);
}
}  // namespace tool_call_parser_test
