#include "support/saved_model.h"
#include "support/test.h"

// `chat` in a terminal. sessions/chat.txt has it in a pipe.

constexpr std::int32_t kEnd = 256;

// A model that answers "hi" to a prompt of 1 byte, "yo" to one of 4 and "ok" to one of 7.
std::string greeting_model(const TemporaryFolder& folder, Index block_size = 16) {
  Ids script{'h', 'i', kEnd, 'y', 'o', kEnd, 'o', 'k', kEnd};
  script.resize(static_cast<std::size_t>(block_size), kEnd);
  return save_model(folder, "model", *scripted_model(257, script));
}

// The contents without separators.
std::string contents_only(const TemporaryFolder& folder) {
  return folder.write("contents.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}");
}

Arguments chat_arguments(const TemporaryFolder& folder, const std::string& model) {
  return {"chat", model, "--chat_template", contents_only(folder), "--max_new_tokens", "2"};
}

TEST_CASE("in a terminal chat edits lines, survives errors and shows the context") {
  const TemporaryFolder folder;
  const Arguments chat = chat_arguments(folder, greeting_model(folder));
  const ProgramResult result =
      run_headlight_typing({{"/help lists", ""},
                            {"> ", "\x03"},
                            {"> ", "ab\x03"},    // Ctrl-C drops the line
                            {"> ", "?x\x7F\r"},  // backspace
                            {"context 3 of 16", ""},
                            {"> ", "/nothing\r"},
                            {"unknown command", ""},
                            {"> ", "\x1B[A\x1B[A\r"},  // the history: "?" again
                            {"context", ""},
                            {"> ", "\x04"}},  // Ctrl-D
                           chat);
  INFO(result.out);
  CHECK(result.exit_code == 0);
  check_parts(result.out, {"hi", "context 6 of 16"});
}

TEST_CASE("in a terminal /save asks before it writes over a file") {
  const TemporaryFolder folder;
  const std::string file = folder.write("talk.json", "precious");
  Arguments chat = chat_arguments(folder, greeting_model(folder));
  const auto save = [&](const std::string& answer) {
    const ProgramResult result = run_headlight_typing({{"> ", "?\r"},
                                                       {"context", ""},
                                                       {"> ", "/save " + file + "\r"},
                                                       {"write over it? [y/N] ", answer + "\r"},
                                                       {"> ", "\x04"}},
                                                      chat);
    CHECK(result.exit_code == 0);
    return result.out;
  };
  CHECK(contains(save("n"), "not saved"));
  CHECK(file_contents(file) == "precious");
  CHECK(contains(save("y"), "wrote "));
  CHECK(json::parse(file_contents(file))["messages"].size() == 2);
}

TEST_CASE("Ctrl-C stops an answer and not the chat") {
  const TemporaryFolder folder;
  const std::string model = save_model(folder, "model", *lively_model(257, 4096));
  const ProgramResult result = run_headlight_typing(
      {{"> ", "a\r"}, {"\n", ""}, {"\xEF\xBF\xBD", "\x03"}, {"stopped", ""}, {"> ", "\x04"}},
      {"chat", model, "--chat_template", contents_only(folder), "--max_new_tokens", "4000"});
  INFO(result.out);
  CHECK(result.exit_code == 0);
  CHECK(contains(result.out, "stopped"));
}
