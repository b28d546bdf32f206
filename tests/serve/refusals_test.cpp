#include "headlight/formats/chat_template/known_templates.h"
#include "serve/tool_model.h"
#include "support/rows.h"
#include "support/test.h"

namespace refusals_test {
// Returns the model of a group: one without a chat template, or one with a known or a published
// one.
ServedModel served(const std::string& name) {
  if (name == "lively") {
    return lively_served();
  }
  const bool has_tools = name != "chat" && name != "chatml";
  ServedModel model = tool_served(has_tools ? name : "qwen2_5",
                                  {"<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"});
  if (!has_tools) {
    model.chat_template = ChatTemplates(read_chat_template("chatml"));
  }
  return model;
}

std::string shown(const HttpClient::Answer& answer) {
  if (answer.status == 200) {
    return "200";
  }
  const Json error = parse_json(answer.body, "answer")["error"];
  const Json param = error.value("param", Json());
  return concat_text(answer.status, " ", param.is_string() ? param.text() : "-", " | ",
                     error["message"].text());
}

TEST_CASE("requests that cannot be answered are refused by name") {
  std::map<std::string, std::unique_ptr<RunningServer>> servers;
  check_rows("serve/refusals.txt", [&](const Row& row) {
    const std::size_t path = row.group.find(' ') + 1;
    const std::size_t end = std::min(row.group.find(' ', path), row.group.size());
    std::unique_ptr<RunningServer>& server = servers[row.group.substr(0, path - 1)];
    if (server == nullptr) {
      server =
          std::make_unique<RunningServer>(ServeOptions{}, served(row.group.substr(0, path - 1)));
    }
    const std::string body = "{" + row.group.substr(end) + row.given + "}";
    return shown(server->post(row.group.substr(path, end - path), body));
  });
}

TEST_CASE("bodies that are no objects and lists without end are refused") {
  const RunningServer server;
  const auto refused = [&](const std::string& body, const std::string& message) {
    const HttpClient::Answer answer = server.post("/v1/completions", body);
    CHECK(answer.status == 400);
    CHECK_THAT(answer.body, contains_text(message));
  };
  refused("", "body");
  refused("[]", "body: expected an object, got array");
  refused(Json{{"prompt", "a"}, {"stop", std::string(5000, 'x')}}.dump(),
          "stop: expected texts of 1 to 4096 bytes, got 5000");
  Json biases = Json::object();
  for (int i = 0; i < 20'000; ++i) {
    biases.add(std::to_string(i), 1);
  }
  refused(Json{{"prompt", "a"}, {"logit_bias", biases}}.dump(),
          "logit_bias: expected at most 16384 tokens, got 20000");
}
}  // namespace refusals_test
