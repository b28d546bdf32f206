#include "formats/chat_template/tool_call_parser.h"
#include "support/published_templates.h"
#include "support/test.h"

namespace tool_call_parser_test {

const ToolStyle& style_of_file(const char* name) {
  const ToolStyle* style = tool_style_of(published_template(name));
  REQUIRE(style != nullptr);
  return *style;
}

const ToolStyle& hermes() {
  static const ToolStyle& style = style_of_file("qwen2_5");
  return style;
}
const ToolStyle& mistral() {
  static const ToolStyle& style = style_of_file("mistral_nemo");
  return style;
}
const ToolStyle& llama() {
  static const ToolStyle& style = style_of_file("llama3_1");
  return style;
}

const ToolStyle& named() {
  static const ToolStyle& style = style_of_file("mistral_small_3_2");
  return style;
}
const ToolStyle& parameters() {
  static const ToolStyle& style = style_of_file("qwen3_8");
  return style;
}
const ToolStyle& granite() {
  static const ToolStyle& style = style_of_file("granite_3_3");
  return style;
}

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

TEST_CASE("calls of Hermes and Qwen are found between their marks", "[formats]") {
  const auto parts = [](const std::string& answer) { return parts_of(hermes(), answer); };
  const std::string f = R"(<tool_call>
{"name": "f", "arguments": {"city": "a}\"{", "n": [1, {}]}}
</tool_call>)";
  CHECK(parts(f) == R"(f{"city": "a}\"{", "n": [1, {}]})");
  CHECK(parts("Let me look.\n\n" + f + "\n<tool_call>{\"name\":\"g\"}</tool_call>\n") ==
        R"(Let me look.|f{"city": "a}\"{", "n": [1, {}]}|g{})");
  CHECK(parts("<tool_call>{\"name\":\"g\"}</tool_call>\n Done. \n") == "g{}|Done. \n");
  CHECK(parts("<tool_call>{\"name\":\"g\"}\n<tool_call>{\"name\":\"f\"}") == "g{}|f{}");
  CHECK(parts(R"(<tool_call>{"name": "g", "parameters": "{\"a\": 1}"}</tool_call>)") ==
        R"(g{"a":1})");
}

TEST_CASE("whatever is no complete call of a known function stays text", "[formats]") {
  const auto stays = [](const std::string& answer) {
    INFO(answer);
    CHECK(parts_of(hermes(), answer) == answer);
  };
  stays("");
  stays(" a < b <tool> \n");
  stays("a \n<tool_");
  stays("a <tool_call>");
  stays("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Os");
  stays("<tool_call>\n{'name': 'f'}\n</tool_call>");
  stays("<tool_call>{\"name\": \"unknown\"}</tool_call>");
  stays("<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>");
  stays("<tool_call>{\"name\": \"f\", \"name\": \"g\"}</tool_call>");
  stays("<tool_call>f()</tool_call>");
  stays("{\"name\": \"f\"}");
  CHECK(parts_of(hermes(), "<tool_call>{} <tool_call>{\"name\": \"f\"}</tool_call>") ==
        "<tool_call>{}|f{}");
  stays("a" + std::string(5000, ' '));
  stays("<tool_call>{\"name\": \"" + std::string(ToolCallParser::kLongestCall + 50, 'x'));
}

TEST_CASE("a list of calls of Mistral is found after its mark", "[formats]") {
  const auto parts = [](const std::string& answer) { return parts_of(mistral(), answer); };
  CHECK(parts(R"([TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}, {"name": "g", "id": "x"}])") ==
        R"(f{"a": 1}|g{})");
  CHECK(parts("I ask. [TOOL_CALLS] [{\"name\": \"f\"}] ok") == "I ask.|f{}|ok");
  CHECK(parts("[TOOL_CALLS][{\"name\": \"f\"}, {\"na") == "f{}|, {\"na");
  CHECK(parts("[TOOL_CALLS] nothing") == "[TOOL_CALLS] nothing");
  CHECK(parts("[1, 2] [TOOL") == "[1, 2] [TOOL");
}

TEST_CASE("a bare object that calls a function is a call of Llama 3", "[formats]") {
  const auto parts = [](const std::string& answer) { return parts_of(llama(), answer); };
  CHECK(parts(R"({"name": "f", "parameters": {"a": "b"}})") == R"(f{"a": "b"})");
  CHECK(parts("\n<|python_tag|>{\"name\": \"f\"}; {\"name\": \"g\"}") == "f{}|g{}");
  CHECK(parts("{\"name\": \"Bob\", \"age\": 7}") == "{\"name\": \"Bob\", \"age\": 7}");
  CHECK(parts(" It is {\"name\": \"f\"}") == " It is {\"name\": \"f\"}");
  CHECK(parts("Wait. <|python_tag|>{\"name\": \"f\"}") == "Wait.|f{}");
}

TEST_CASE("a call of newer Mistral models has its name before the arguments", "[formats]") {
  const auto parts = [](const std::string& answer) { return parts_of(named(), answer); };
  CHECK(parts(R"([TOOL_CALLS]f[ARGS]{"a": {"b": "}"}}[TOOL_CALLS]g[CALL_ID]abc123def[ARGS]{})") ==
        R"(f{"a": {"b": "}"}}|g{})");
  CHECK(parts("I ask. [TOOL_CALLS]f[ARGS] {\"a\": 1}\n ok") == "I ask.|f{\"a\": 1}|ok");
  for (const char* text : {"[TOOL_CALLS]h[ARGS]{}", "[TOOL_CALLS]f[ARGS]7", "[TOOL_CALLS]f {}",
                           "[TOOL_CALLS]f[ARGS]{\"a\": 1", "[TOOL_CALLS]f[ARGS]{a: 1}",
                           "[TOOL_CALLS][{\"name\": \"f\"}]", "[TOOL_CALLS]f[ARG"}) {
    CHECK(parts(text) == text);
  }
}

TEST_CASE("a call with marked parameters becomes JSON as their schema asks", "[formats]") {
  const auto call = [](const std::string& body) {
    return "<tool_call>\n<function=f>\n" + body + "</function>\n</tool_call>";
  };
  const auto value = [&](const std::string& key, const std::string& text) {
    return parts_of(parameters(), call("<parameter=" + key + ">\n" + text + "\n</parameter>\n"));
  };
  CHECK(value("s", "12") == R"(f{"s": "12"})");
  CHECK(value("s", "\n a\"<b>\n\n") == R"(f{"s": "\n a\"<b>\n\n"})");
  CHECK(value("n", "12") == R"(f{"n": 12})");
  CHECK(value("n", "twelve") == R"(f{"n": "twelve"})");
  CHECK(value("o", "7") == R"(f{"o": "7"})");
  CHECK(value("o", "None") == R"(f{"o": null})");
  CHECK(value("other", "[1, {\"a\": true}]") == R"(f{"other": [1,{"a":true}]})");
  CHECK(value("other", "False") == R"(f{"other": false})");
  CHECK(parts_of(parameters(), "Yes.\n" +
                                   call("<parameter=n>1</parameter><parameter=s></parameter>") +
                                   '\n' + call("") + " ok") == R"(Yes.|f{"n": 1, "s": ""}|f{}|ok)");
  for (const std::string text :
       {"<tool_call><function=h></function></tool_call>",
        "<tool_call>{\"name\": \"f\"}</tool_call>", "<tool_call>\n<function=f>\nx</function>",
        "<tool_call><function=f><parameter=n>1</param",
        "<tool_call><function=f><parameter=n>1</parameter><parameter=n>1</parameter></function>"}) {
    CHECK(parts_of(parameters(), text) == text);
  }
}

TEST_CASE("a list of calls of Granite 3 is found after its mark", "[formats]") {
  CHECK(parts_of(granite(),
                 R"(<|tool_call|>[{"name": "f", "arguments": {"a": 1}}, {"name": "g"}])") ==
        R"(f{"a": 1}|g{})");
}

TEST_CASE("arguments are given in pieces while they are generated", "[formats]") {
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

TEST_CASE("calls beyond the limit and the text after them are dropped", "[formats]") {
  CHECK(parts_of(llama(), "{\"name\": \"f\"}; {\"name\": \"g\"}", {.most_calls = 1}) == "f{}");
  CHECK(parts_of(hermes(), "{\"name\": \"f\"}\n</tool_call> more",
                 {.has_begun = true, .most_calls = 1}) == "f{}");
  CHECK(parts_of(hermes(), "{\"name\": \"f\"", {.has_begun = true}) == "{\"name\": \"f\"");
}

TEST_CASE("the parts of an answer do not depend on the pieces in which it arrives", "[formats]") {
  const std::vector<std::string> fragments{"<tool_call>",
                                           "</tool_call>",
                                           "[TOOL_CALLS]",
                                           "[",
                                           "]",
                                           ",",
                                           "<|python_tag|>",
                                           ";",
                                           "<",
                                           " ",
                                           "\n",
                                           "{",
                                           "}",
                                           R"({"name": "f"})",
                                           R"({"name": "g", "arguments": {"a": "}"}})",
                                           "<function=f>",
                                           "<parameter=a>",
                                           "</parameter>",
                                           "</function>",
                                           "f[ARGS]",
                                           "[CALL_ID]",
                                           "\"",
                                           "\\",
                                           "text",
                                           R"("name": "f")"};
  std::mt19937 random(7);
  const auto below = [&](std::size_t count) { return random() % count; };
  for (int i = 0; i < 3000; ++i) {
    std::string answer;
    for (std::size_t left = below(12); left > 0; --left) {
      answer += fragments[below(fragments.size())];
    }
    INFO(answer);
    for (const ToolStyle* style : {&hermes(), &mistral(), &llama(), &named(), &parameters()}) {
      parts_of(*style, answer,
               {.has_begun = i % 2 == 0, .most_calls = 1 + below(3), .in_pieces = i % 4 < 2});
    }
  }
}

TEST_CASE("a beginning that only resembles a call is text in any pieces") {
  CHECK(parts_of(parameters(), "<tool_call><f</funcn=f></function>") ==
        "<tool_call><f</funcn=f></function>");
  CHECK(parts_of(named(), "[TOOL_CALLS]f[[ARGS]{}") == "[TOOL_CALLS]f[[ARGS]{}");
  CHECK(parts_of(named(), "[TOOL_CALLS]f[CALL_ID]" + std::string(246, '1') + "[ARGS]{}") == "f{}");
  CHECK(parts_of(named(), "[TOOL_CALLS]f[CALL_ID]" + std::string(247, '1') + "[ARGS]{}")
            .starts_with("[TOOL_CALLS]f[CALL_ID]1"));
  CHECK(parts_of(parameters(), "<tool_call><function=f></function> <fun") == "f{}|<fun");
}

TEST_CASE("random fragments of calls give the same parts in any pieces") {
  const std::vector<std::string> fragments{"<tool_call>",
                                           "</tool_call>",
                                           "[TOOL_CALLS]",
                                           "[ARGS]",
                                           "[CALL_ID]",
                                           "<function=",
                                           "f",
                                           "g>",
                                           "</function>",
                                           "<parameter=s>",
                                           "</parameter>",
                                           "{}",
                                           R"({"name": "f", "arguments": {)",
                                           "}}",
                                           "[",
                                           ",",
                                           "<",
                                           "</",
                                           " ",
                                           "\n",
                                           "<|tool_call|>",
                                           "<|python_tag|>",
                                           ";",
                                           "]",
                                           "\"",
                                           "x"};
  std::mt19937 random(7);
  for (const ToolStyle* style :
       {&hermes(), &mistral(), &llama(), &named(), &parameters(), &granite()}) {
    for (int i = 0; i < 400; ++i) {
      std::string answer(i % 2 == 0 ? style->begin : "");
      for (auto parts = random() % 9; parts > 0; --parts) {
        const std::string& one = fragments[random() % fragments.size()];
        answer += random() % 4 == 0 ? one.substr(0, 1 + random() % one.size()) : one;
      }
      parts_of(*style, answer, {.most_calls = 9, .in_pieces = random() % 2 == 0});
    }
  }
}

TEST_CASE("the style of tool calls is recognised from the templates of models", "[formats]") {
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
