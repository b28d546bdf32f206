#include <cctype>

#include "serve/tool_model.h"
#include "support/test.h"

namespace other_apis_test {
ServedModel served(const std::string& name) {
  return tool_served(name, {"<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"});
}

const Json kDay = parse_json(R"({"type": "object", "required": ["day"], "properties":
    {"day": {"type": "integer", "minimum": 1, "maximum": 7}}, "additionalProperties": false})",
                             "");

struct Event {
  std::string name;
  Json data;
};

// Returns the events "event: NAME\ndata: JSON\n\n" of a stream.
std::vector<Event> named_events(std::string body) {
  std::vector<Event> events;
  while (!body.empty()) {
    const std::size_t end = body.find("\n\n");
    const std::size_t line = body.find("\ndata: ");
    require(body.starts_with("event: ") && line < end, "no event: ", body);
    events.push_back(
        {body.substr(7, line - 7), parse_json(body.substr(line + 7, end - line - 7), "event")});
    CHECK(events.back().data["type"] == Json(events.back().name));
    body.erase(0, end + 2);
  }
  return events;
}

std::string names_of(const std::vector<Event>& events) {
  std::string names;
  for (const Event& event : events) {
    if (!names.ends_with(event.name + ' ')) {
      names += event.name + ' ';
    }
  }
  return names;
}

const std::string kChats = "/v1/chat/completions";
const std::string kResponses = "/v1/responses";
const std::string kMessages = "/v1/messages";

TEST_CASE("a response has the text of the chat with the same messages", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  const Json chat{{"messages", Json::array({{{"role", "system"}, {"content", "Help."}},
                                            {{"role", "user"}, {"content", "Hi"}},
                                            {{"role", "assistant"}, {"content", "Yes?"}},
                                            {{"role", "user"}, {"content", "Bye"}}})},
                  {"max_tokens", 30},
                  {"logprobs", true},
                  {"top_logprobs", 2},
                  {"seed", 3}};
  const Json expected = server.asked(kChats, chat);
  const Json part{{"type", "output_text"}, {"text", "Yes?"}, {"annotations", Json::array()}};
  Json request{
      {"instructions", "Help."},
      {"input",
       Json::array({{{"role", "user"}, {"content", "Hi"}},
                    {{"type", "message"}, {"role", "assistant"}, {"content", Json::array({part})}},
                    {{"role", "user"}, {"content", "Bye"}}})},
      {"max_output_tokens", 30},
      {"top_logprobs", 2},
      {"store", false},
      {"seed", 3}};
  const Json response = server.asked(kResponses, request);
  const Json& choice = expected["choices"].front();
  CHECK(response["status"] == "incomplete");
  CHECK(response["incomplete_details"]["reason"] == "max_output_tokens");
  const Json& output = response["output"].front()["content"].front();
  CHECK(output["text"] == choice["message"]["content"]);
  CHECK(output["logprobs"] == choice["logprobs"]["content"]);
  CHECK(response["usage"]["input_tokens"] == expected["usage"]["prompt_tokens"]);
  CHECK(response["usage"]["output_tokens"] == Json(30));
  CHECK(response["instructions"] == "Help.");

  request["stream"] = true;
  const std::vector<Event> events = named_events(server.post(kResponses, request.dump()).body);
  CHECK(names_of(events) ==
        "response.created response.in_progress response.output_item.added "
        "response.content_part.added response.output_text.delta response.output_text.done "
        "response.content_part.done response.output_item.done response.incomplete ");
  std::string text;
  for (std::size_t i = 0; i < events.size(); ++i) {
    CHECK(events[i].data["sequence_number"] == Json(i));
    text += events[i].name == "response.output_text.delta" ? events[i].data["delta"].text() : "";
  }
  CHECK(Json(text) == output["text"]);
  const Json& last = events.back().data["response"];
  CHECK(last["output"].front()["content"].front()["text"] == output["text"]);
  CHECK(last["usage"]["output_tokens"] == Json(30));
}

TEST_CASE("calls are items of a response, whole and streamed, and can be sent back", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  Json request{
      {"input", "Which day?"},
      {"tools",
       Json::array(
           {{{"type", "function"}, {"name", "calendar"}, {"parameters", kDay}, {"strict", true}}})},
      {"tool_choice", {{"type", "function"}, {"name", "calendar"}}},
      {"seed", 4}};
  const Json call = server.asked(kResponses, request)["output"].front();
  CHECK(call["type"] == "function_call");
  CHECK(call["name"] == "calendar");
  const Json day = parse_json(call["arguments"].text(), "arguments")["day"];
  CHECK(day.integer() >= 1);
  request["stream"] = true;
  const std::vector<Event> events = named_events(server.post(kResponses, request.dump()).body);
  CHECK(names_of(events) ==
        "response.created response.in_progress response.output_item.added "
        "response.function_call_arguments.delta response.function_call_arguments.done "
        "response.output_item.done response.completed ");
  CHECK(events.back().data["response"]["output"].front()["arguments"] == call["arguments"]);
  request["stream"] = false;
  request["tool_choice"] = "none";
  request["max_output_tokens"] = 5;
  request["input"] = Json::array(
      {{{"role", "user"}, {"content", "Which day?"}},
       call,
       {{"type", "function_call_output"}, {"call_id", call["call_id"]}, {"output", "Monday"}}});
  CHECK(server.asked(kResponses, request)["output"].front()["type"] == "message");
}

TEST_CASE("what responses cannot have is refused by name", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  const auto refused = [&](const char* member, const Json& value) {
    Json request{{"input", "Hi"}};
    request[member] = value;
    const HttpClient::Answer answer = server.post(kResponses, request.dump());
    CHECK(answer.status == 400);
    return parse_json(answer.body, "answer")["error"]["param"].text();
  };
  CHECK(refused("store", true) == "store");
  CHECK(refused("previous_response_id", "resp_1") == "previous_response_id");
  CHECK(refused("background", true) == "background");
  CHECK(refused("truncation", "auto") == "truncation");
  CHECK(refused("tools", Json::array({{{"type", "web_search"}}})) == "tools");
  CHECK(refused("input", Json::array({{{"type", "item_reference"}, {"id", "x"}}})) == "input");
  CHECK(refused("reasoning", {{"effort", "low"}}) == "reasoning_effort");
  CHECK(refused("bogus", 1) == "bogus");
}

TEST_CASE("a message has the text of the chat with the same messages", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  const Json chat{{"messages", Json::array({{{"role", "system"}, {"content", "Help."}},
                                            {{"role", "user"}, {"content", "Hi"}}})},
                  {"max_tokens", 40},
                  {"seed", 3}};
  const Json expected = server.asked(kChats, chat);
  const std::string text = expected["choices"].front()["message"]["content"].text();
  Json request{
      {"system",
       Json::array(
           {{{"type", "text"}, {"text", "Help."}, {"cache_control", {{"type", "ephemeral"}}}}})},
      {"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})},
      {"max_tokens", 40},
      {"seed", 3}};
  const Json message = server.asked(kMessages, request);
  CHECK(message["content"].front()["text"] == Json(text));
  CHECK(message["stop_reason"] == "max_tokens");
  CHECK(message["usage"]["output_tokens"] == Json(40));
  const Json& usage = message["usage"];
  CHECK(usage["input_tokens"].integer() + usage["cache_read_input_tokens"].integer() ==
        expected["usage"]["prompt_tokens"].integer());
  CHECK(server.asked("/v1/messages/count_tokens", request)["input_tokens"] ==
        expected["usage"]["prompt_tokens"]);

  const std::string stop(1, *std::ranges::find_if(text, [](char c) { return c > 32; }));
  request["stop_sequences"] = Json::array({stop});
  const Json stopped = server.asked(kMessages, request);
  CHECK(stopped["stop_reason"] == "stop_sequence");
  CHECK(stopped["stop_sequence"] == Json(stop));

  request["stream"] = true;
  const std::vector<Event> events = named_events(server.post(kMessages, request.dump()).body);
  CHECK(names_of(events) ==
        "message_start content_block_start content_block_delta "
        "content_block_stop message_delta message_stop ");
  std::string streamed;
  for (const Event& event : events) {
    streamed += event.name == "content_block_delta" ? event.data["delta"]["text"].text() : "";
  }
  CHECK(Json(streamed) == stopped["content"].front()["text"]);
}

TEST_CASE("errors of messages have Anthropic's form and types", "[serve]") {
  const std::string secret = "a-key-of-24-characters-x";
  ServeOptions options{.api_key = secret};
  const RunningServer server(options, served("qwen2_5"));
  const auto error_of = [&](const std::string& path, const std::string& body,
                            const std::string& key, int status, std::size_t length = 0) {
    HttpClient client(server.port());
    client.send(request_head("POST", path, std::max(length, body.size()), key) + body);
    const HttpClient::Answer answer = client.receive();
    CHECK(answer.status == status);
    return parse_json(answer.body, "answer");
  };
  const auto type_of = [](const Json& answer) {
    REQUIRE(answer.size() == 2);
    CHECK(answer["type"] == "error");
    CHECK(answer["error"].size() == 2);
    CHECK(answer["error"]["message"].is_string());
    return answer["error"]["type"].text();
  };
  const std::string key = "X-Api-Key: " + secret + "\r\n";
  const std::string hello = R"("messages": [{"role": "user", "content": "Hi"}])";
  for (const std::string path : {"/v1/messages", "/v1/messages/count_tokens"}) {
    CHECK(type_of(error_of(path, "{" + hello + "}", "", 401)) == "authentication_error");
    CHECK(type_of(error_of(path, R"({"model": "x", )" + hello + "}", key, 404)) ==
          "not_found_error");
    CHECK(type_of(error_of(path, "{" + hello + R"(, "bogus": 1})", key, 400)) ==
          "invalid_request_error");
    CHECK(type_of(error_of(path, "{", key, 400)) == "invalid_request_error");
    CHECK(type_of(error_of(path, "", key, 413, std::size_t{2} << 20U)) == "request_too_large");
  }
  CHECK(error_of(kChats, "{", key, 400)["error"].contains("param"));
}

TEST_CASE("calls are blocks of a message and come back as such", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  Json request{{"messages", Json::array({{{"role", "user"}, {"content", "Which day?"}}})},
               {"tools", Json::array({{{"name", "calendar"}, {"input_schema", kDay}}})},
               {"tool_choice", {{"type", "any"}}},
               {"max_tokens", 100},
               {"seed", 4}};
  const Json message = server.asked(kMessages, request);
  const Json& block = message["content"].front();
  CHECK(message["stop_reason"] == "tool_use");
  CHECK(block["type"] == "tool_use");
  CHECK(block["input"]["day"].integer() >= 1);
  request["stream"] = true;
  std::string input;
  for (const Event& event : named_events(server.post(kMessages, request.dump()).body)) {
    input += event.name == "content_block_delta" ? event.data["delta"]["partial_json"].text() : "";
  }
  CHECK(parse_json(input, "input") == block["input"]);
  request["stream"] = false;
  request["tool_choice"] = {{"type", "none"}};
  request["max_tokens"] = 5;
  const Json result{{"type", "tool_result"}, {"tool_use_id", block["id"]}, {"content", "Monday"}};
  request["messages"] = Json::array({{{"role", "user"}, {"content", "Which day?"}},
                                     {{"role", "assistant"}, {"content", message["content"]}},
                                     {{"role", "user"}, {"content", Json::array({result})}}});
  CHECK(server.asked(kMessages, request)["type"] == "message");
}

TEST_CASE("an answer with tools and a schema is a call or satisfies the schema", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  int calls = 0;
  int texts = 0;
  for (int seed = 0; seed < 12; ++seed) {
    const Json function{{"name", "calendar"}, {"parameters", kDay}};
    Json request{
        {"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})},
        {"tools", Json::array({{{"type", "function"}, {"function", function}}})},
        {"response_format", {{"type", "json_schema"}, {"json_schema", {{"schema", kDay}}}}},
        {"max_tokens", 200},
        {"seed", seed}};
    const Json choice = server.asked(kChats, request)["choices"].front();
    const Json& message = choice["message"];
    CHECK(choice["finish_reason"] != "length");
    if (message.contains("tool_calls")) {
      ++calls;
      CHECK(message["tool_calls"].front()["function"]["name"] == "calendar");
    } else {
      ++texts;
      CHECK(parse_json(message["content"].text(), "answer")["day"].integer() <= 7);
    }
  }
  CHECK(calls > 0);
  CHECK(texts > 0);
}

TEST_CASE("variables of a chat template are honoured, or refused by name", "[serve]") {
  const RunningServer server({}, served("qwen3_8"));
  Json request{{"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})},
               {"max_tokens", 1}};
  const auto prompt = [&] {
    return server.asked(kChats, request)["usage"]["prompt_tokens"].integer();
  };
  const Index thinking = prompt();
  request["chat_template_kwargs"] = {{"enable_thinking", false}};
  CHECK(prompt() != thinking);
  request["chat_template_kwargs"] = {{"bogus", 1}};
  CHECK_THAT(server.post(kChats, request.dump()).body, contains_text("has no 'bogus'"));
  request["chat_template_kwargs"] = {{"messages", Json::array()}};
  CHECK_THAT(server.post(kChats, request.dump()).body, contains_text("chat_template_kwargs"));
}

TEST_CASE("vLLM's members say when a text may end and what it may be", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  const auto choice = [&](Json request) {
    request["prompt"] = "x";
    request["seed"] = 1;
    return server.asked("/v1/completions", request)["choices"].front();
  };
  const Json plain = choice(
      {{"max_tokens", 20}, {"ignore_eos", true}, {"logprobs", 0}, {"return_token_ids", true}});
  const Json third = Json::array({plain["logprobs"]["token_ids"][std::size_t{2}]});
  const Json stopped = choice({{"max_tokens", 20}, {"stop_token_ids", third}});
  CHECK(stopped["finish_reason"] == "stop");
  CHECK(plain["text"].text().starts_with(stopped["text"].text()));
  CHECK(stopped["text"].text().size() < plain["text"].text().size());
  CHECK(choice({{"max_tokens", 20}, {"logit_bias", {{"256", 100}}}})["text"] == "");
  CHECK(choice({{"max_tokens", 20}, {"min_tokens", 5}, {"logit_bias", {{"256", 100}}}})["text"]
            .text()
            .size() >= 4);
  const Json options = Json::array({"yes", "no"});
  const std::string answer = choice({{"structured_outputs", {{"choice", options}}}})["text"].text();
  CHECK((answer == "yes" || answer == "no"));
  CHECK(choice({{"structured_outputs", {{"json", {{"const", 7}}}}}})["text"] == "7");
  const std::string date =
      choice({{"structured_outputs", {{"regex", R"((?:19|20)\d\d-(0[1-9]|1[0-2]))"}}}})["text"]
          .text();
  CHECK(date.size() == 7);
  CHECK((date.starts_with("19") || date.starts_with("20")));
  CHECK((std::isdigit(date[2]) && std::isdigit(date[3]) && date[4] == '-'));
  const HttpClient::Answer backward = server.post(
      "/v1/completions", R"x({"prompt": "x", "structured_outputs": {"regex": "(a)\\1"}})x");
  CHECK_THAT(backward.body, contains_text("the regex '(a)\\\\1': '\\\\1' cannot be expressed"));
  const HttpClient::Answer refused =
      server.post("/v1/completions", R"({"prompt": "x", "repeat_penalty": 1.1})");
  CHECK_THAT(refused.body, contains_text("is called repetition_penalty here"));
}

TEST_CASE("tokens in the forms of llama-server and of vLLM", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  CHECK(server.asked("/tokenize", {{"content", "ab"}})["tokens"] == Json::array({97, 98}));
  const Json theirs = server.asked(
      "/tokenize", {{"prompt", "ab"}, {"add_special_tokens", false}, {"return_token_strs", true}});
  CHECK(theirs["count"] == Json(2));
  CHECK(theirs["max_model_len"] == Json(2048));
  CHECK(theirs["token_strs"] == Json::array({"a", "b"}));
  const Json name{{"prompt", "a<|im_end|>"}, {"add_special_tokens", false}};
  CHECK(server.asked("/tokenize", name)["tokens"] == Json::array({97, 258}));
  CHECK(server.asked("/tokenize", {{"content", "a<|im_end|>"},
                                   {"parse_special", true}})["tokens"] == Json::array({97, 258}));
  CHECK(server.asked("/tokenize", {{"content", "a<|im_end|>"}})["tokens"].size() == 11);
  const Json text = server.asked("/detokenize", {{"tokens", Json::array({97, 98})}});
  CHECK(text["content"] == "ab");
  CHECK(text["prompt"] == "ab");
}

TEST_CASE("/apply-template returns the prompt of a chat as text", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  Json request{{"messages", Json::array({{{"role", "system"}, {"content", "Help."}},
                                         {{"role", "user"}, {"content", "Hi <|im_end|>"}}})}};
  const std::string before =
      "<|im_start|>system\nHelp.<|im_end|>\n<|im_start|>user\nHi <|im_end|><|im_end|>\n";
  CHECK(server.asked("/apply-template", request)["prompt"] ==
        Json(before + "<|im_start|>assistant\n"));
  request["messages"].push_back({{"role", "assistant"}, {"content", "Yes"}});
  request["continue_final_message"] = true;
  CHECK(server.asked("/apply-template", request)["prompt"] ==
        Json(before + "<|im_start|>assistant\nYes"));
  const Json longer{
      {"messages", Json::array({{{"role", "user"}, {"content", std::string(9000, 'x')}}})}};
  CHECK(server.asked("/apply-template", longer)["prompt"].text().size() > 9000);
  CHECK(server.post("/apply-template", R"({"messages": []})").status == 400);
}

TEST_CASE("paths with a second name give the same answer", "[serve]") {
  const RunningServer server;
  CHECK(server.get("/models").body == server.get("/v1/models").body);
  CHECK(server.get("/v1/health").body == server.get("/health").body);
}

TEST_CASE("a chat that is cut off within a character has the log-probabilities of all tokens",
          "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  const Json bias{{"228", 100}};  // the first of three bytes
  const Json chat{{"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})},
                  {"logit_bias", bias},
                  {"max_tokens", 1},
                  {"logprobs", true}};
  const Json choice = server.asked(kChats, chat)["choices"].front();
  CHECK(choice["message"]["content"] == "");
  CHECK(choice["logprobs"]["content"].front()["bytes"] == Json::array({228}));
  Json request{
      {"input", "Hi"}, {"logit_bias", bias}, {"max_output_tokens", 1}, {"top_logprobs", 1}};
  const Json whole = server.asked(kResponses, request)["output"].front()["content"].front();
  request["stream"] = true;
  const Json last = named_events(server.post(kResponses, request.dump()).body).back().data;
  const Json& streamed = last["response"]["output"].front()["content"].front();
  CHECK(whole["logprobs"].size() == 1);
  CHECK(streamed == whole);
}
}  // namespace other_apis_test
