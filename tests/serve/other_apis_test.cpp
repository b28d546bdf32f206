#include <cctype>

#include "serve/tool_model.h"
#include "support/test.h"

ServedModel served(const std::string& name) {
  return tool_served(name, {"<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"});
}

const std::string kDay = R"({"type": "object", "required": ["day"], "properties":
    {"day": {"type": "integer", "minimum": 1, "maximum": 7}}, "additionalProperties": false})";

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

// Returns the events of a streamed answer.
std::vector<Event> streamed(const RunningServer& server, const std::string& path, Json request) {
  request["stream"] = true;
  return named_events(server.post(path, request.dump()).body);
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

// Joins a text of all events with a name.
std::string joined(const std::vector<Event>& events, const std::string& name,
                   const std::function<std::string(const Json&)>& text) {
  std::string all;
  for (const Event& event : events) {
    all += event.name == name ? text(event.data) : "";
  }
  return all;
}

const std::string kChats = "/v1/chat/completions";
const std::string kResponses = "/v1/responses";
const std::string kMessages = "/v1/messages";

TEST_CASE("a response has the text of the chat with the same messages", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  const Json expected = server.asked(kChats, json_of(R"({"messages": [
      {"role": "system", "content": "Help."}, {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Bye"}],
      "max_tokens": 30, "logprobs": true, "top_logprobs": 2, "seed": 3})"));
  const Json request = json_of(R"({"instructions": "Help.", "input": [
      {"role": "user", "content": "Hi"}, {"type": "message", "role": "assistant", "content":
        [{"type": "output_text", "text": "Yes?", "annotations": []}]},
      {"role": "user", "content": "Bye"}],
      "max_output_tokens": 30, "top_logprobs": 2, "store": false, "seed": 3})");
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
  const std::vector<Event> events = streamed(server, kResponses, request);
  CHECK(names_of(events) ==
        "response.created response.in_progress response.output_item.added "
        "response.content_part.added response.output_text.delta response.output_text.done "
        "response.content_part.done response.output_item.done response.incomplete ");
  for (std::size_t i = 0; i < events.size(); ++i) {
    CHECK(events[i].data["sequence_number"] == Json(i));
  }
  const auto delta = [](const Json& data) { return data["delta"].text(); };
  CHECK(joined(events, "response.output_text.delta", delta) == output["text"].text());
  const Json& last = events.back().data["response"];
  CHECK(last["output"].front()["content"].front()["text"] == output["text"]);
  CHECK(last["usage"]["output_tokens"] == Json(30));
}

TEST_CASE("calls are items of a response, whole and streamed, and can be sent back", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  Json request = json_of(R"({"input": "Which day?", "seed": 4,
      "tools": [{"type": "function", "name": "calendar", "strict": true, "parameters": )" +
                         kDay + R"(}], "tool_choice": {"type": "function", "name": "calendar"}})");
  const Json call = server.asked(kResponses, request)["output"].front();
  CHECK(call["type"] == "function_call");
  CHECK(call["name"] == "calendar");
  CHECK(json_of(call["arguments"].text())["day"].integer() >= 1);
  const std::vector<Event> events = streamed(server, kResponses, request);
  CHECK(names_of(events) ==
        "response.created response.in_progress response.output_item.added "
        "response.function_call_arguments.delta response.function_call_arguments.done "
        "response.output_item.done response.completed ");
  CHECK(events.back().data["response"]["output"].front()["arguments"] == call["arguments"]);
  request["tool_choice"] = "none";
  request["max_output_tokens"] = 5;
  request["input"] = Json::array(
      {{{"role", "user"}, {"content", "Which day?"}},
       call,
       {{"type", "function_call_output"}, {"call_id", call["call_id"]}, {"output", "Monday"}}});
  CHECK(server.asked(kResponses, request)["output"].front()["type"] == "message");
}

TEST_CASE("a message has the text of the chat with the same messages", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  const Json expected = server.asked(kChats, json_of(R"({"messages": [
      {"role": "system", "content": "Help."}, {"role": "user", "content": "Hi"}],
      "max_tokens": 40, "seed": 3})"));
  const std::string text = expected["choices"].front()["message"]["content"].text();
  Json request = json_of(R"({"system": [{"type": "text", "text": "Help.",
      "cache_control": {"type": "ephemeral"}}], "messages": [{"role": "user", "content": "Hi"}],
      "max_tokens": 40, "seed": 3})");
  const Json message = server.asked(kMessages, request);
  CHECK(message["content"].front()["text"] == Json(text));
  CHECK(message["stop_reason"] == "max_tokens");
  const Json& usage = message["usage"];
  CHECK(usage["output_tokens"] == Json(40));
  CHECK(usage["input_tokens"].integer() + usage["cache_read_input_tokens"].integer() ==
        expected["usage"]["prompt_tokens"].integer());
  CHECK(server.asked("/v1/messages/count_tokens", request)["input_tokens"] ==
        expected["usage"]["prompt_tokens"]);

  const std::string stop(1, *std::ranges::find_if(text, [](char c) { return c > 32; }));
  request["stop_sequences"] = Json::array({stop});
  const Json stopped = server.asked(kMessages, request);
  CHECK(stopped["stop_reason"] == "stop_sequence");
  CHECK(stopped["stop_sequence"] == Json(stop));
  const std::vector<Event> events = streamed(server, kMessages, request);
  CHECK(names_of(events) ==
        "message_start content_block_start content_block_delta "
        "content_block_stop message_delta message_stop ");
  const auto delta = [](const Json& data) { return data["delta"]["text"].text(); };
  CHECK(joined(events, "content_block_delta", delta) == stopped["content"].front()["text"].text());
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
  Json request = json_of(R"({"messages": [{"role": "user", "content": "Which day?"}],
      "tool_choice": {"type": "any"}, "max_tokens": 100, "seed": 4,
      "tools": [{"name": "calendar", "input_schema": )" +
                         kDay + "}]}");
  const Json message = server.asked(kMessages, request);
  const Json& block = message["content"].front();
  CHECK(message["stop_reason"] == "tool_use");
  CHECK(block["type"] == "tool_use");
  CHECK(block["input"]["day"].integer() >= 1);
  const auto delta = [](const Json& data) { return data["delta"]["partial_json"].text(); };
  CHECK(json_of(joined(streamed(server, kMessages, request), "content_block_delta", delta)) ==
        block["input"]);
  request["tool_choice"] = {{"type", "none"}};
  request["max_tokens"] = 5;
  request["messages"].push_back({{"role", "assistant"}, {"content", message["content"]}});
  const Json result{{"type", "tool_result"}, {"tool_use_id", block["id"]}, {"content", "Monday"}};
  request["messages"].push_back({{"role", "user"}, {"content", Json::array({result})}});
  CHECK(server.asked(kMessages, request)["type"] == "message");
}

TEST_CASE("an answer with tools and a schema is a call or satisfies the schema", "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  Json request = json_of(R"({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 200,
      "tools": [{"type": "function", "function": {"name": "calendar", "parameters": )" +
                         kDay + R"(}}],
      "response_format": {"type": "json_schema", "json_schema": {"schema": )" +
                         kDay + "}}}");
  int calls = 0;
  int texts = 0;
  for (int seed = 0; seed < 12; ++seed) {
    request["seed"] = seed;
    const Json choice = server.asked(kChats, request)["choices"].front();
    const Json& message = choice["message"];
    CHECK(choice["finish_reason"] != "length");
    if (message.contains("tool_calls")) {
      ++calls;
      CHECK(message["tool_calls"].front()["function"]["name"] == "calendar");
    } else {
      ++texts;
      CHECK(json_of(message["content"].text())["day"].integer() <= 7);
    }
  }
  CHECK(calls > 0);
  CHECK(texts > 0);
}

TEST_CASE("variables of a chat template are honoured", "[serve]") {
  const RunningServer server({}, served("qwen3_8"));
  Json request{{"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})},
               {"max_tokens", 1}};
  const auto prompt = [&] {
    return server.asked(kChats, request)["usage"]["prompt_tokens"].integer();
  };
  const Index thinking = prompt();
  request["chat_template_kwargs"] = {{"enable_thinking", false}};
  CHECK(prompt() != thinking);
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
  Json request = json_of(R"({"messages": [{"role": "system", "content": "Help."},
                                          {"role": "user", "content": "Hi <|im_end|>"}]})");
  const auto prompt = [&] { return server.asked("/apply-template", request)["prompt"].text(); };
  const std::string before =
      "<|im_start|>system\nHelp.<|im_end|>\n<|im_start|>user\nHi <|im_end|><|im_end|>\n";
  CHECK(prompt() == before + "<|im_start|>assistant\n");
  request["messages"].push_back({{"role", "assistant"}, {"content", "Yes"}});
  request["continue_final_message"] = true;
  CHECK(prompt() == before + "<|im_start|>assistant\nYes");
  request["messages"].push_back({{"role", "user"}, {"content", std::string(9000, 'x')}});
  request["continue_final_message"] = false;
  CHECK(prompt().size() > 9000);
}

TEST_CASE("paths with a second name give the same answer", "[serve]") {
  const RunningServer server;
  CHECK(server.get("/models").body == server.get("/v1/models").body);
  CHECK(server.get("/v1/health").body == server.get("/health").body);
}

TEST_CASE("a chat that is cut off within a character has the log-probabilities of all tokens",
          "[serve]") {
  const RunningServer server({}, served("qwen2_5"));
  // 228 is the first of three bytes.
  const Json choice = server
                          .asked(kChats, json_of(R"({"messages": [{"role": "user",
      "content": "Hi"}], "logit_bias": {"228": 100}, "max_tokens": 1, "logprobs": true})"))
                              ["choices"]
                          .front();
  CHECK(choice["message"]["content"] == "");
  CHECK(choice["logprobs"]["content"].front()["bytes"] == Json::array({228}));
  const Json request = json_of(R"({"input": "Hi", "logit_bias": {"228": 100},
                                   "max_output_tokens": 1, "top_logprobs": 1})");
  const Json whole = server.asked(kResponses, request)["output"].front()["content"].front();
  const Json last = streamed(server, kResponses, request).back().data;
  CHECK(whole["logprobs"].size() == 1);
  CHECK(last["response"]["output"].front()["content"].front() == whole);
}
