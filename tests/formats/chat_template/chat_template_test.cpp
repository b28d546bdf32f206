#include "headlight/formats/chat_template/chat_template.h"
#include "base/json.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "support/models/published_templates.h"
#include "support/test.h"

namespace chat_template_test {
const fs::path kData = HEADLIGHT_SOURCE_DIR "/tests/formats/chat_template";

std::string rendered(const std::string& source, const std::string& variables = "{}",
                     const std::string& messages = R"([{"role": "user", "content": "hi"}])") {
  return ChatTemplate(source).render({.messages = messages, .variables = variables});
}

std::string error_of(const std::string& source) {
  try {
    return "rendered " + rendered(source).substr(0, 100);
  } catch (const Error& error) {
    return error.what();
  }
}

// Returns the 64-bit FNV-1a hash and the size in bytes.
std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits += kDigits[(hash >> shift) & 15U];
  }
  return digits + " " + std::to_string(text.size());
}

Json tools_of(const Json& conversation, const std::vector<Json>& all) {
  const Json tools = conversation.value("tools", Json());
  for (const Json& other : all) {
    if (tools.is_string() && other["name"].text() == tools.text()) {
      return other["tools"];
    }
  }
  return tools;
}

ChatTemplateInput input_of(const Json& conversation, const std::vector<Json>& all) {
  Json variables = conversation.value("variables", Json::object());
  variables.add("bos_token", "<bos>");
  variables.add("eos_token", "<eos>");
  const Json tools = tools_of(conversation, all);
  std::tm now{};
  now.tm_year = 124;
  now.tm_mon = 6;
  now.tm_mday = 26;
  now.tm_hour = 15;
  now.tm_min = 30;
  now.tm_sec = 45;
  now.tm_wday = 5;
  now.tm_yday = 207;
  return {.messages = conversation["messages"].dump(),
          .tools = tools.is_null() ? "" : tools.dump(),
          .variables = variables.dump(),
          .add_generation_prompt = conversation.value("add_generation_prompt", true).boolean(),
          .now = now};
}

// Checks a rendering against the text, the digest or the refusal that transformers gave.
void check(const ChatTemplate& chat, const ChatTemplateInput& input, const Json& expected) {
  std::string text;
  bool is_refused = false;
  try {
    text = chat.render(input);
  } catch (const Error& error) {
    is_refused = true;
    text = error.what();
  }
  INFO(text);
  CHECK(is_refused == expected.is_null());
  if (!is_refused && expected.is_string() && text != expected.text()) {
    CHECK(digest(text) == expected.text());
  }
}

TEST_CASE("chat templates of published models give the prompts of transformers") {
  const std::vector<Json> all = chat_lines("conversations.jsonl");
  const std::vector<PublishedTemplate> templates = published_templates();
  CHECK(templates.size() == 55);
  for (const PublishedTemplate& one : templates) {
    const ChatTemplate chat(one.source);
    REQUIRE(one.prompts.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string& name = all[i]["name"].text();
      INFO("tools/parity/make_chat_templates.py --show " << one.name << " '" << name
                                                         << "' prints the expected prompt");
      CHECK(one.prompts[i]["conversation"].text() == name);
      check(chat, input_of(all[i], all), one.prompts[i]["prompt"]);
    }
  }
}

// Each text is the output of Jinja 3.1. A line with "error" has a part of the error instead.
TEST_CASE("expressions of chat templates have the values of Python, or errors") {
  const auto rows = json_lines(kData / "expressions.jsonl");
  CHECK(rows.size() > 90);
  for (const auto& row : rows) {
    const auto source = row["source"].get<std::string>();
    INFO(source);
    if (row.contains("text")) {
      CHECK(rendered(source) == row["text"].get<std::string>());
    } else {
      CHECK_THAT(error_of(source), contains_text(row["error"].get<std::string>()));
    }
  }
}

TEST_CASE("whole numbers of any size reach a chat template with all digits") {
  const char* messages = R"([{"role": "assistant", "content": "", "tool_calls": [
      {"function": {"name": "f", "arguments": {"id": 12345678901234567890, "n": [-98765432109876543210]}}}]}])";
  CHECK(rendered("{{ messages[0].tool_calls[0].function.arguments | tojson }}", "{}", messages) ==
        R"({"id": 12345678901234567890, "n": [-98765432109876543210]})");
  CHECK(rendered("{{ messages[0].tool_calls[0].function.arguments }}", "{}", messages) ==
        "{'id': 12345678901234567890, 'n': [-98765432109876543210]}");
}

TEST_CASE("chat templates that are nested too deep or not UTF-8 end with an error") {
  for (const std::string& source :
       {"{{ " + repeated("(", 500) + "1" + repeated(")", 500) + " }}",
        "{{ x" + repeated(".a", 5000) + " }}", "{{ 1" + repeated("+1", 5000) + " }}",
        repeated("{% if x %}", 5000)}) {
    INFO(source.substr(0, 120));
    CHECK_THAT(error_of(source), contains_text("nested deeper"));
  }
  CHECK_THAT(error_of("\xff"), contains_text("invalid UTF-8 at byte 0"));
}

TEST_CASE("templates with names write the formats of their models") {
  const std::string chat =
      R"([{"role": "system", "content": "S"}, {"role": "user", "content": "a"},
          {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}])";
  const auto expected = json::parse(file_contents(kData / "known_templates.json"));
  CHECK(chat_template_names().size() == expected.size());
  for (const auto& [name, text] : expected.items()) {
    INFO(name);
    CHECK(rendered(read_chat_template(name), R"({"bos_token": "<bos>", "eos_token": "<eos>"})",
                   chat) == text.get<std::string>());
  }
  check_error([&] { read_chat_template("chatlm"); },
              {"chat_template", "got 'chatlm'; did you mean 'chatml'?"});
}

TEST_CASE("the template hermes shows tools and their calls and results") {
  const std::string chat =
      R"([{"role": "system", "content": "S"}, {"role": "user", "content": "a"},
          {"role": "assistant", "content": "b", "tool_calls": [
            {"function": {"name": "f", "arguments": {"x": 1}}},
            {"function": {"name": "f", "arguments": {}}}]},
          {"role": "tool", "content": "7"}])";
  const std::string text =
      ChatTemplate(read_chat_template("hermes"))
          .render({.messages = chat, .tools = R"([{"function": {"name": "f"}}])"});
  CHECK_THAT(text, contains_text("<|im_start|>system\nS\n\nYou may call"));
  CHECK_THAT(text, contains_text("<tools>\n{\"function\": {\"name\": \"f\"}}\n</tools>"));
  CHECK_THAT(text,
             contains_text("<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n"
                           "b\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n"
                           "</tool_call>\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n"
                           "</tool_call><|im_end|>\n<|im_start|>tool\n<tool_response>\n7\n"
                           "</tool_response><|im_end|>\n<|im_start|>assistant\n"));
}
}  // namespace chat_template_test
