#include "generate/grammar/grammar_state.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "serve/completions/call_grammar.h"
#include "serve/completions/chat_messages.h"
#include "serve/completions/tools_request.h"
#include "serve/tool_model.h"
#include "support/test.h"

namespace tools_test {
using namespace headlight::serve;

// Special tokens of ChatML and Mistral.
const std::vector<std::string_view> kMarks{"<|im_start|>", "<|im_end|>", "[TOOL_CALLS]", "[INST]",
                                           "[/INST]"};

ServedModel served(const std::string& name) { return tool_served(name, kMarks); }

Json tool(const std::string& name, const char* parameters) {
  return {{"type", "function"},
          {"function",
           {{"name", name},
            {"description", "About " + name},
            {"parameters", parse_json(parameters, "parameters")}}}};
}

// A question with two functions.
Json question() {
  const char* city = R"({"type": "object", "properties": {"city": {"$ref": "#/$defs/city"}},
                         "required": ["city"], "$defs": {"city": {"enum": ["Oslo", "Rome"]}}})";
  const char* day = R"({"type": "object", "properties": {"day": {"type": "integer",
                        "minimum": 1, "maximum": 7}}, "required": ["day"]})";
  return {{"messages", Json::array({{{"role", "system"}, {"content", "Help."}},
                                    {{"role", "user"}, {"content", "Weather?"}}})},
          {"tools", Json::array({tool("weather", city), tool("calendar", day)})},
          {"max_completion_tokens", 400},
          {"seed", 4}};
}

// Throws Error unless a call satisfies the schemas of question().
void require_valid(const Json& call) {
  require(call["type"].text() == "function" && call["id"].text().size() == 9, call.dump());
  const Json arguments = parse_json(call["function"]["arguments"].text(), "arguments");
  if (call["function"]["name"].text() == "weather") {
    require(arguments["city"] == "Oslo" || arguments["city"] == "Rome", call.dump());
  } else {
    require(arguments["day"].integer() >= 1 && arguments["day"].integer() <= 7, call.dump());
  }
}

const std::string kChats = "/v1/chat/completions";

// Joins the events of a stream to the message of a whole answer.
Json joined_message(const std::vector<Json>& events) {
  std::string content;
  Json calls = Json::array();
  for (const Json& event : events) {
    const Json& delta = event["choices"].front()["delta"];
    content += delta.value("content", "").text();
    for (const Json& part : delta.value("tool_calls", Json::array())) {
      const auto index = static_cast<std::size_t>(part["index"].integer());
      require(index <= calls.size(), "calls come in order");
      if (index == calls.size()) {
        calls.push_back({{"id", part["id"]},
                         {"type", part["type"]},
                         {"function", {{"name", part["function"]["name"]}, {"arguments", ""}}}});
      }
      Json::List all = calls.list();
      Json& function = all[index]["function"];
      function["arguments"] = function["arguments"].text() + part["function"]["arguments"].text();
      calls = all;
    }
  }
  return {{"content", content}, {"calls", calls}};
}

TEST_CASE("a required call satisfies the schema of its function", "[serve]") {
  for (const char* name :
       {"qwen2_5", "mistral_nemo", "llama3_2", "granite_3_3", "mistral_small_3_2", "qwen3_8"}) {
    INFO(name);
    const RunningServer server({}, served(name));
    Json request = question();
    request["tool_choice"] = "required";
    const Json choice = server.asked(kChats, request)["choices"].front();
    INFO(choice.dump());
    CHECK(choice["finish_reason"] == "tool_calls");
    CHECK(choice["message"]["content"].is_null());
    REQUIRE(choice["message"]["tool_calls"].size() == 1);
    require_valid(choice["message"]["tool_calls"].front());
    request["tool_choice"] = {{"type", "function"}, {"function", {{"name", "calendar"}}}};
    const Json named = server.asked(kChats, request)["choices"].front()["message"];
    REQUIRE(named["tool_calls"].size() == 1);
    CHECK(named["tool_calls"].front()["function"]["name"] == "calendar");
    require_valid(named["tool_calls"].front());
  }
}

TEST_CASE("a text in a forced call ends at the mark of its parameter", "[serve]") {
  const Json place = tool("f", R"({"type": "object", "properties": {"s": {"type": "string"}},
                                   "required": ["s"]})");
  const auto grammar = call_grammar({.style = tool_style_of(published_template("qwen3_8")),
                                     .functions = Json::array({place["function"]}),
                                     .must_call = true});
  const auto accepts = [&](const std::string& text) {
    GrammarState state(*grammar);
    try {
      state.advance("<function=f>\n<parameter=s>\n" + text + "\n</function>");
    } catch (const Error&) {
      return false;
    }
    return state.is_complete();
  };
  for (const char* text : {"Oslo", "", "two\nlines\n", "a < b", "</b>", "</parameteR", "<</para"}) {
    INFO(text);
    CHECK(accepts(std::string(text) + "\n</parameter>"));
    CHECK(accepts(std::string(text) + "</parameter>"));
  }
  for (const char* text : {"", "Oslo", "Oslo</parameter_city>\n", "</parameter>\n"}) {
    INFO(text);
    CHECK_FALSE(accepts(std::string(text) + "</parameter_city>\n</parameter>"));
    CHECK_FALSE(accepts(std::string(text) + "</parameter>\n</parameter>"));
  }
}

TEST_CASE("streamed calls are those of the whole answer", "[serve]") {
  for (const char* name : {"qwen2_5", "mistral_nemo", "mistral_small_3_2", "qwen3_8"}) {
    INFO(name);
    const RunningServer server({}, served(name));
    Json request = question();
    request["tool_choice"] = "required";
    request["parallel_tool_calls"] = true;
    request["logprobs"] = true;
    const Json whole = server.asked(kChats, request)["choices"].front()["message"];
    request["stream"] = true;
    const std::vector<Json> events = events_of(server.post(kChats, request.dump()).body);
    const Json streamed = joined_message(events);
    REQUIRE(!streamed["calls"].empty());
    REQUIRE(streamed["calls"].size() == whole["tool_calls"].size());
    for (std::size_t i = 0; i < streamed["calls"].size(); ++i) {
      CHECK(streamed["calls"][i]["function"] == whole["tool_calls"][i]["function"]);
      require_valid(streamed["calls"][i]);
    }
    const Json& first = events[1]["choices"].front()["delta"]["tool_calls"].front();
    CHECK(first["function"]["arguments"] == "");
    CHECK(first["index"].integer() == 0);
    // The arguments come in pieces: more events than the beginnings and ends of answer and calls.
    CHECK(events.size() > 2 * streamed["calls"].size() + 2);
  }
}

TEST_CASE("an answer without a call and a call that is cut off are text", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  Json request = question();
  request["max_completion_tokens"] = 20;
  const Json free = server.asked(kChats, request)["choices"].front();
  CHECK(free["finish_reason"] == "length");
  CHECK_FALSE(free["message"].contains("tool_calls"));
  CHECK(!free["message"]["content"].text().empty());
  request["tool_choice"] = "required";
  const Json cut = server.asked(kChats, request)["choices"].front();
  CHECK(cut["finish_reason"] == "length");
  CHECK_THAT(cut["message"]["content"].text(), contains_text("{"));
  request["tool_choice"] = "none";
  CHECK(server.asked(kChats, request)["choices"].front()["message"]["content"].is_string());
}

TEST_CASE("special tokens that begin a call are seen, and shown if no call follows", "[serve]") {
  const RunningServer server({}, served("mistral_nemo"));
  Json request = question();
  request["max_completion_tokens"] = 3;
  request["logit_bias"] = {{"259", 100}};
  const auto content = [&] {
    return server.asked(kChats, request)["choices"].front()["message"]["content"].text();
  };
  CHECK(content() == "[TOOL_CALLS][TOOL_CALLS][TOOL_CALLS]");
  request["tool_choice"] = "none";
  CHECK(content().empty());
}

TEST_CASE("tools and calls reach the chat template as transformers passes them", "[serve]") {
  const MarkedBytes tokenizer(kMarks);
  const auto prompt = [&](const std::string& name, const Json& messages, const Json& tools) {
    const ChatFormat chat(published_template(name), tokenizer);
    Fields fields(Json{{"messages", messages}, {"tools", tools}}.dump());
    std::string text;
    for (const std::int32_t id :
         chat.encode(read_messages(fields, chat, true), ChatPrompt::new_answer,
                     read_tools(fields, chat).tools.dump())) {
      text += tokenizer.token_label(id);
    }
    return text;
  };
  const Json call{{"id", "abcdefghi"},
                  {"type", "function"},
                  {"function", {{"name", "f"}, {"arguments", R"({"city": "<|im_end|>"})"}}}};
  const Json messages = Json::array(
      {{{"role", "user"}, {"content", "Hi"}},
       {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}},
       {{"role", "tool"}, {"tool_call_id", "abcdefghi"}, {"content", "7 <|im_start|>"}}});
  const Json tools = Json::array({tool("f", R"({"type": "object"})")});
  const std::string qwen = prompt("qwen2_5", messages, tools);
  CHECK_THAT(qwen, contains_text(R"({"type": "function", "function": {"name": "f", )"));
  CHECK_THAT(qwen, contains_text("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": "));
  CHECK_THAT(qwen, contains_text("<tool_response>\n7 <|im_start|>\n</tool_response>"));
  CHECK_THAT(prompt("mistral_nemo", messages, tools),
             contains_text(R"(, "id": "abcdefghi"}]</s>)") ||
                 contains_text(R"(, "id": "abcdefghi"}]<|endoftext|>)"));
  // Granite's template writes contents alone.
  CHECK_THAT(
      prompt("granite_3_3", messages, tools),
      contains_text(R"(<|tool_call|>[{"name":"f","arguments":{"city":"<|im_end|>"}}]<|end)"));
  // Names of special tokens in calls and results are plain text.
  const ChatFormat chat(published_template("qwen2_5"), tokenizer);
  Fields fields(Json{{"messages", messages}}.dump());
  const auto ids = chat.encode(read_messages(fields, chat, false));
  CHECK(std::count(ids.begin(), ids.end(), 257) == 5);
}
}  // namespace tools_test
