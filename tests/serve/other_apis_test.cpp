#include "serve/tool_model.h"
#include "support/test.h"

ServedModel served(const std::string& name) {
  return tool_served(name, {"<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"});
}

const std::string kDay = R"({"type": "object", "required": ["day"], "properties":
    {"day": {"type": "integer", "minimum": 1, "maximum": 7}}, "additionalProperties": false})";

const std::string kChats = "/v1/chat/completions";

TEST_CASE("errors of messages have Anthropic's form and types") {
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

TEST_CASE("an answer with tools and a schema is a call or satisfies the schema") {
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
