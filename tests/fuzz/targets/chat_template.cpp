#include "headlight/formats/chat_template/chat_template.h"
#include "base/json.h"
#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/base/utf8.h"

namespace headlight::fuzz {

// A template must render or refuse a chat. Its output must be UTF-8 and the same each time.
void chat_template(std::string_view input) {
  static const ChatTemplateInput chat{
      .messages = R"([{"role": "system", "content": "a é"}, {"role": "user", "content": "b"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.5}}}]},
        {"role": "tool", "content": [{"type": "text", "text": "c\n"}]}])",
      .tools = R"([{"type": "function", "function": {"name": "f", "parameters": {"x": [null]}}}])",
      .variables = R"({"bos_token": "<s>", "eos_token": "</s>"})",
      .now = std::tm{}};
  accepted([&] {
    const ChatTemplate program{std::string(input)};
    const std::string text = program.render(chat);
    demand(valid_utf8_prefix(text) == text.size(), "the prompt is not UTF-8");
    demand(program.render(chat) == text, "the prompt changes");
  });
}

}  // namespace headlight::fuzz
