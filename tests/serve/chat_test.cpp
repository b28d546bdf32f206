#include "headlight/formats/chat_template/chat_format.h"
#include "serve/running_server.h"
#include "support/models/marked_bytes.h"
#include "support/test.h"

constexpr const char* kTemplate =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\\nYou help<|im_end|>\\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// Byte tokenizer with the two marks of ChatML as tokens 257 and 258.
class ChatBytes : public test::MarkedBytes {
 public:
  ChatBytes() : MarkedBytes({"<|im_start|>", "<|im_end|>"}) {}
};

std::string shown(const Ids& ids) {
  std::string text;
  for (const std::int32_t id : ids) {
    text += ChatBytes().token_label(id);
  }
  return text;
}

ServedModel chat_served() {
  ServedModel model{.name = "chat", .loaded = {}, .chat_template = kTemplate};
  model.loaded.model = lively_model(259, 512);
  model.loaded.tokenizer = std::make_unique<ChatBytes>();
  return model;
}

TEST_CASE("a chat is encoded with the template and its default system message", "[serve]") {
  const ChatBytes tokenizer;
  const ChatFormat chat(kTemplate, tokenizer);
  CHECK(chat.problem().empty());
  CHECK(shown(chat.encode({{"user", "hi"}})) ==
        "<|im_start|>system\nYou help<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\n");
  CHECK(shown(chat.encode({{"system", "Be brief"}, {"user", "hi"}})) ==
        "<|im_start|>system\nBe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\n");
  CHECK(chat.end_tokens() == Ids{258});
}

TEST_CASE("the last message of a chat can be continued") {
  const ChatBytes tokenizer;
  const ChatFormat chat(kTemplate, tokenizer);
  const auto continued = [&](const std::string& answer) {
    return shown(chat.encode({{"system", "s"}, {"user", "Hi Hi"}, {"assistant", answer}},
                             ChatPrompt::last_answer));
  };
  const std::string before =
      "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nHi Hi<|im_end|>\n"
      "<|im_start|>assistant\n";
  CHECK(continued("Hi") == before + "Hi");
  CHECK(continued("Hi, I am ") == before + "Hi, I am ");
  CHECK_THROWS_WITH(continued(" \n"), contains_text("expected a last message with text"));
  CHECK_THROWS_WITH(chat.encode({}, ChatPrompt::last_answer), contains_text("messages: "));
  const ChatFormat trims("{% for m in messages %}[{{ m.content | trim }}]{% endfor %}", tokenizer);
  CHECK(shown(trims.encode({{"assistant", " Hi "}}, ChatPrompt::last_answer)) == "[Hi");
  const ChatFormat drops("{{ messages[0].content }}", tokenizer);
  CHECK_THROWS_WITH(drops.encode({{"user", "a"}, {"assistant", "b"}}, ChatPrompt::last_answer),
                    contains_text("leaves out the last message"));
  CHECK(ChatFormat("{{ '<|im_start|>' }}<|sep|>[x]<a b>< >{{ '<|sep|>' }}", tokenizer)
            .missing_names() == std::vector<std::string>{"<|sep|>"});
}

TEST_CASE("models without a chat template or with a faulty one have no chats", "[serve]") {
  const ChatBytes tokenizer;
  CHECK_THAT(ChatFormat("", tokenizer).problem(), contains_text("no chat template"));
  const ChatFormat faulty("a\n{{ x", tokenizer);
  CHECK_THAT(faulty.problem(), contains_text("chat template, line 2: the tag has no end }}"));
  CHECK_THROWS_WITH(faulty.encode({{"user", "hi"}}), contains_text("messages: the model's"));
}

TEST_CASE("a template named tool_use serves prompts with tools, as in transformers", "[serve]") {
  const ChatBytes tokenizer;
  ChatTemplates templates;
  templates.set("tool_use", "tools:{{ tools | length }}{{ messages[0].content }}");
  templates.set("rag", "rag");
  const std::string tools = R"([{"function": {"name": "f"}}])";
  const ChatFormat without_default(templates, tokenizer);
  CHECK(without_default.problem() ==
        "this model has chat templates named rag, tool_use, but none named default: choose one "
        "with --chat_template");
  CHECK_THROWS_WITH(without_default.encode({{"user", "hi"}}), contains_text("none named default"));
  CHECK(shown(without_default.encode({{"user", "hi"}}, ChatPrompt::new_answer, tools)) ==
        "tools:1hi");
  templates.set("default", "default:{{ messages[0].content }}");
  const ChatFormat chat(templates, tokenizer);
  CHECK(chat.source() == *templates.find("default"));
  CHECK(chat.source(true) == *templates.find("tool_use"));
  CHECK(shown(chat.encode({{"user", "hi"}})) == "default:hi");
  CHECK(shown(chat.encode({{"user", "hi"}}, ChatPrompt::new_answer, tools)) == "tools:1hi");
  CHECK(shown(ChatFormat("one:{{ tools | length }}", tokenizer)
                  .encode({{"user", "hi"}}, ChatPrompt::new_answer, tools)) == "one:1");
}

TEST_CASE("templates other than ChatML are used, and may refuse messages", "[serve]") {
  const ChatBytes tokenizer;
  const ChatFormat chat(
      "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
      "{% endif %}[{{ m.role }}] {{ m.content.split('<|im_end|>')[-1] }}{{ eos_token }}"
      "{% endfor %}",
      tokenizer);
  CHECK(shown(chat.encode({{"user", "a<|im_end|>hi"}})) == "[user] hi<|endoftext|>");
  CHECK(chat.end_tokens() == Ids{tokenizer.end_of_text()});
  CHECK_THROWS_WITH(chat.encode({{"system", "x"}}),
                    contains_text("the template refuses the messages: no system"));
  CHECK_THROWS_WITH(chat.encode({{"user", "\uFDD0"}}), contains_text("noncharacters"));
}

// The chat's tokenizer with the names of ChatML's marks replaced by others.
class MiddleBytes final : public ChatBytes {
 public:
  Index vocab_size() const override { return 260; }
  std::string_view special_name(std::int32_t id) const override {
    constexpr std::array<std::string_view, 3> kNames{"<fim_prefix>", "<fim_suffix>",
                                                     "<fim_middle>"};
    return id > 256 && id < 260 ? kNames[static_cast<std::size_t>(id - 257)]
                                : ChatBytes::special_name(id);
  }
};

TEST_CASE("answers match a grammar or a JSON schema", "[serve]") {
  const RunningServer server({}, chat_served());
  Json chat{{"messages", Json::array({{{"role", "user"}, {"content", "hi"}}})},
            {"max_completion_tokens", 200},
            {"temperature", 0}};
  const auto content = [&](const char* member, const Json& value) {
    Json request = chat;
    request[member] = value;
    const Json answer = server.asked("/v1/chat/completions", request);
    CHECK(answer["choices"].front()["finish_reason"] == "stop");
    return answer["choices"].front()["message"]["content"].text();
  };
  const std::string word = content("grammar", R"(root ::= "yes" | "no")");
  CHECK((word == "yes" || word == "no"));
  const Json schema = parse_json(
      R"({"type": "object", "properties": {"age": {"type": "integer", "minimum": 3, "maximum": 9},
          "kind": {"enum": ["cat", "dog"]}}, "required": ["age", "kind"],
          "additionalProperties": false})",
      "schema");
  const Json format{{"type", "json_schema"},
                    {"json_schema", {{"name", "pet"}, {"schema", schema}}}};
  for (const auto& [member, value] :
       std::map<std::string, Json>{{"response_format", format}, {"json_schema", schema}}) {
    const Json pet = parse_json(content(member.c_str(), value), "answer");
    CHECK(pet["age"].integer() >= 3);
    CHECK(pet["age"].integer() <= 9);
    CHECK((pet["kind"] == "cat" || pet["kind"] == "dog"));
  }
}

TEST_CASE("a completion with a suffix fills in the middle", "[serve]") {
  ServedModel model{.name = "middle", .loaded = {}};
  model.loaded.model = lively_model(260, 64);
  model.loaded.tokenizer = std::make_unique<MiddleBytes>();
  const RunningServer server({}, std::move(model));
  const Json request{{"prompt", "ab"}, {"suffix", "yz"}, {"max_tokens", 8}, {"seed", 5}};
  const Json same{
      {"prompt", Json::array({257, 97, 98, 258, 121, 122, 259})}, {"max_tokens", 8}, {"seed", 5}};
  CHECK(server.asked("/v1/completions", request)["choices"].front()["text"] ==
        server.asked("/v1/completions", same)["choices"].front()["text"]);
}

// Marks only the start of a text, as Metaspace with "prepend_scheme": "first" does.
constexpr const char* kMarksStart = R"({"added_tokens": [
  {"id": 0, "content": "</s>", "special": true},
  {"id": 1, "content": "<｜fim▁begin｜>", "special": true},
  {"id": 2, "content": "<｜fim▁hole｜>", "special": true},
  {"id": 3, "content": "<｜fim▁end｜>", "special": true}], "normalizer": null,
  "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
                    "split": false},
  "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
  "model": {"type": "BPE", "unk_token": "</s>", "merges": [], "vocab": {
    "</s>": 0, "<｜fim▁begin｜>": 1, "<｜fim▁hole｜>": 2, "<｜fim▁end｜>": 3, "▁": 4,
    "a": 5, "b": 6, "y": 7, "z": 8}}})";

// The ids are those of tokenizers 0.23 for the joined text.
TEST_CASE("prompt and suffix are encoded as one text with the special tokens", "[serve]") {
  ServedModel model{.name = "middle", .loaded = {}};
  model.loaded.model = lively_model(9, 64);
  model.loaded.tokenizer = parse_tokenizer_json(kMarksStart, "t.json");
  const RunningServer server({}, std::move(model));
  Json request{{"prompt", "ab"}, {"suffix", "yz"}, {"max_tokens", 8}, {"seed", 5}};
  const auto text = [&](const Json& prompt, const char* suffix) {
    request["prompt"] = prompt;
    request["suffix"] = suffix;
    return server.asked("/v1/completions", request)["choices"].front()["text"].text();
  };
  const std::string expected = text(Json::array({1, 5, 6, 2, 7, 8, 3}), "");
  CHECK(text("ab", "yz") == expected);
  CHECK(text(Json::array({5, 6}), "yz") == expected);
  CHECK(text(Json::array({1, 4, 5, 6, 2, 4, 7, 8, 3}), "") != expected);
}

TEST_CASE("an answer of a chat is continued where it ends", "[serve]") {
  const RunningServer server({}, chat_served());
  const ChatBytes tokenizer;
  const Ids prompt = ChatFormat(kTemplate, tokenizer)
                         .encode({{"user", "hi"}, {"assistant", "I am"}}, ChatPrompt::last_answer);
  const Json same =
      server.asked("/v1/completions", {{"prompt", Json(prompt)}, {"max_tokens", 20}, {"seed", 3}});
  const Json answer =
      server.asked("/v1/chat/completions",
                   {{"messages", Json::array({{{"role", "user"}, {"content", "hi"}},
                                              {{"role", "assistant"}, {"content", "I am"}}})},
                    {"max_completion_tokens", 20},
                    {"seed", 3},
                    {"add_generation_prompt", false},
                    {"continue_final_message", true}});
  CHECK(answer["choices"][0]["message"]["content"] == same["choices"][0]["text"]);
}

TEST_CASE("chats are answered as a whole and as a stream", "[serve]") {
  const RunningServer server({}, chat_served());
  Json request{{"messages", Json::array({{{"role", "user"}, {"content", "hi"}}})},
               {"max_completion_tokens", 12},
               {"seed", 3},
               {"logprobs", true},
               {"top_logprobs", 2}};
  const Json whole = server.asked("/v1/chat/completions", request);
  CHECK(whole["object"].text() == "chat.completion");
  const Json& choice = whole["choices"][0];
  CHECK(choice["message"]["role"].text() == "assistant");
  REQUIRE(!choice["logprobs"]["content"].empty());
  CHECK(choice["logprobs"]["content"][0]["top_logprobs"].size() == 2);
  request["stream"] = true;
  std::string text;
  Json tokens = Json::array();
  const std::vector<Json> events =
      events_of(server.post("/v1/chat/completions", request.dump()).body);
  CHECK(events[0]["choices"][0]["delta"]["role"].text() == "assistant");
  for (const Json& event : events) {
    CHECK(event["object"].text() == "chat.completion.chunk");
    const Json& piece = event["choices"][0];
    text += piece["delta"].value("content", "").text();
    if (!piece["logprobs"].is_null()) {
      for (const Json& token : piece["logprobs"]["content"]) {
        tokens.push_back(token);
      }
    }
  }
  CHECK(text == choice["message"]["content"].text());
  CHECK(tokens == choice["logprobs"]["content"]);
  CHECK(events.back()["choices"][0]["finish_reason"] == choice["finish_reason"]);
}

TEST_CASE("the content of a message is a text or a list of parts and is limited to the context",
          "[serve]") {
  const RunningServer server({}, chat_served());
  const auto answer = [&](const Json& content) {
    const Json message{{"role", "user"}, {"content", content}};
    const Json chat{{"messages", Json::array({message})}, {"seed", 2}, {"max_tokens", 8}};
    return parse_json(server.post("/v1/chat/completions", chat.dump()).body, "answer");
  };
  const auto part = [](const char* text) { return Json{{"type", "text"}, {"text", text}}; };
  CHECK(answer("ab")["choices"].size() == 1);
  CHECK(answer(Json::array({part("a"), part("b")}))["choices"] == answer("ab")["choices"]);
  CHECK(answer(std::string(600, 'x'))["error"]["code"].text() == "context_length_exceeded");
}
