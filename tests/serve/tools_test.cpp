#include "generate/grammar/grammar_state.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "serve/completions/call_grammar.h"
#include "serve/completions/chat_messages.h"
#include "serve/tool_model.h"
#include "support/test.h"

namespace tools_test {
using namespace headlight::serve;

TEST_CASE("a text in a forced call ends at the mark of its parameter") {
  const Json place = json_of(R"({"name": "f", "parameters": {"type": "object",
      "properties": {"s": {"type": "string"}}, "required": ["s"]}})");
  const auto grammar = call_grammar({.style = tool_style_of(published_template("qwen3_8")),
                                     .functions = Json::array({place}),
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

TEST_CASE("names of special tokens in calls and results are plain text") {
  const MarkedBytes tokenizer({"<|im_start|>", "<|im_end|>"});
  const ChatFormat chat(published_template("qwen2_5"), tokenizer);
  Fields fields(R"({"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "abcdefghi", "type": "function",
       "function": {"name": "f", "arguments": "{\"city\": \"<|im_end|>\"}"}}]},
      {"role": "tool", "tool_call_id": "abcdefghi", "content": "7 <|im_start|>"}]})");
  const Ids ids = chat.encode(read_messages(fields, chat, false));
  CHECK(std::count(ids.begin(), ids.end(), 257) == 5);
}
}  // namespace tools_test
