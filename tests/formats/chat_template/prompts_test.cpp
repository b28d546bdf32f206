#include "base/json.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "support/models/marked_bytes.h"
#include "support/rows.h"
#include "support/test.h"

namespace prompts_test {
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

// Returns the labels of a prompt's tokens and of the tokens that end the answer.
std::string prompt_of(const Row& row) {
  const ChatBytes tokenizer;
  const ChatFormat chat(parse_json('"' + row.group + '"', "template").text(), tokenizer);
  std::vector<ChatMessage> messages;
  ChatPrompt end = ChatPrompt::new_answer;
  for (const std::string& line : lines_of(row.given)) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) {
      end = ChatPrompt::last_answer;
    } else {
      const Json content = parse_json('"' + line.substr(colon + 2) + '"', "content");
      messages.push_back({line.substr(0, colon), content.text()});
    }
  }
  return shown(chat.encode(messages, end)) + " -> " + shown(chat.end_tokens());
}

TEST_CASE("a template gives the tokens of a prompt and of its end, or refuses the chat") {
  check_rows("formats/chat_template/prompts.txt", [](const Row& row) {
    std::string prompt;
    const std::string error = error_of([&] { prompt = prompt_of(row); });
    return prompt.empty() ? error : prompt;
  });
  const ChatBytes tokenizer;
  CHECK_THAT(ChatFormat("", tokenizer).problem(), contains_text("no chat template"));
  CHECK(ChatFormat("{{ '<|im_start|>' }}<|sep|>[x]<a b>< >{{ '<|sep|>' }}", tokenizer)
            .missing_names() == std::vector<std::string>{"<|sep|>"});
}

TEST_CASE("a template named tool_use serves prompts with tools, as in transformers") {
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
}  // namespace prompts_test
