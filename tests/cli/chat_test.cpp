#include "support/saved_model.h"
#include "support/test.h"

// `chat` with the real program, in a pipe and in a terminal.

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

std::string answers(const Arguments& arguments, const std::string& input) {
  const ProgramResult result = run_headlight_reading(input, arguments);
  INFO(result.err);
  CHECK(result.exit_code == 0);
  return result.out;
}

TEST_CASE("chat answers each line of its input with the conversation before it", "[cli]") {
  const TemporaryFolder folder;
  const Arguments chat = chat_arguments(folder, greeting_model(folder));
  CHECK(answers(chat, "?\n!\n.\n") == "hi\nyo\nok\n");
  CHECK(answers(chat, "?\n\n/undo\n?\n/retry\n!") == "hi\nthe conversation is empty\nhi\nhi\nyo\n");
  CHECK(answers(chat, "?\n/clear\n?\n/quit\n?\n") == "hi\nhi\n");
  CHECK(answers(changed(chat, {"--system", "abc"}), "?\n/system\n!\n") ==
        "yo\nno system message\nyo\n");
  CHECK(answers(changed(chat, {"--prompt", "?"}), "") == "hi\n");
  CHECK(answers(chat, "\"\"\"\n12\n4\"\"\"\n") == "yo\n");
  CHECK(answers(chat, "\"\"\"12\n4\n\"\"\"\n") == "yo\n");
  CHECK(answers(chat, "12\\\n4\n") == "yo\n");
}

TEST_CASE("chat writes one JSON object for each answer", "[cli]") {
  const TemporaryFolder folder;
  Arguments chat = chat_arguments(folder, greeting_model(folder));
  chat.emplace_back("--json");
  const std::string output = answers(chat, "?\n/set\n!\n");
  const std::size_t line = output.find('\n');
  const json first = json::parse(output.substr(0, line));
  check_json(first, R"({"role": "assistant", "content": "hi", "finish_reason": "length",
                        "tokens": 2, "prompt_tokens": 1, "context": 3, "left_out": 0})");
  CHECK(json::parse(output.substr(line + 1))["content"] == "yo");
}

TEST_CASE("a conversation that outgrows the context loses its oldest turns", "[cli]") {
  const TemporaryFolder folder;
  const Arguments chat =
      changed(chat_arguments(folder, greeting_model(folder, 8)), {"--system", "s"});
  const ProgramResult result = run_headlight_reading("12345\n?.!\n", chat);
  INFO(result.err);
  CHECK(result.exit_code == 0);
  // s?.! has four tokens, s12345ANSWER?.! more than eight.
  CHECK(result.out.ends_with("\nyo\n"));
  CHECK(contains(result.err, "did not read the 2 oldest messages"));
  const ProgramResult too_long = run_headlight_reading("12345678\n", chat);
  CHECK(too_long.exit_code == 2);
  CHECK(contains(too_long.err,
                 "messages: the prompt with the last message alone takes 9 "
                 "tokens, but the context holds 8"));
}

TEST_CASE("a conversation is saved, loaded and never written over another file", "[cli]") {
  const TemporaryFolder folder;
  const Arguments chat = chat_arguments(folder, greeting_model(folder));
  const std::string file = folder.at("talk.json");
  CHECK(answers(chat, "?\n/save " + file + "\n!\n/save " + file + "\n") ==
        "hi\nwrote " + file + "\nyo\nwrote " + file + "\n");
  const json saved = json::parse(file_contents(file));
  CHECK(saved["messages"].size() == 4);
  CHECK(saved["messages"][3] == json{{"role", "assistant"}, {"content", "yo"}});
  CHECK(answers(chat, "/load " + file + "\n.\n") == "read 4 messages\nok\n");
  const ProgramResult again = run_headlight_reading("?\n/save " + file + "\n", chat);
  CHECK(again.exit_code == 2);
  CHECK(contains(again.err, "exists; choose another name"));
  CHECK(json::parse(file_contents(file)) == saved);
  folder.write("bad.json", R"({"messages": [{"role": "user"}]})");
  CHECK(contains(run_headlight_reading("/load " + folder.at("bad.json") + "\n", chat).err,
                 "bad.json: messages: key \"content\" is missing"));
}

TEST_CASE("heads that are switched off change the answers until they are switched on", "[cli]") {
  const TemporaryFolder folder;
  const Arguments chat =
      changed(chat_arguments(folder, save_model(folder, "model", *lively_model(257, 64))),
              {"--temperature", "0", "--max_new_tokens", "8"});
  const std::string plain = answers(chat, "Hello\n");
  const std::string changed_text =
      answers(changed(chat, {"--intervene", "off layer.0"}), "Hello\n");
  REQUIRE(plain != changed_text);
  CHECK(answers(chat, "Hello\n/off layer.0\n/retry\n/on\n/retry\n") ==
        plain + changed_text + plain);
  CHECK(answers(chat, "/intervene off layer.0\n/intervene\n/on\n/intervene\n") ==
        "  off layer.0\nno changes\n");
  CHECK(contains(run_headlight_reading("/off 9.1\n", chat).err, "intervene: "));
}

TEST_CASE("settings of a chat are checked and shown", "[cli]") {
  const TemporaryFolder folder;
  const Arguments chat = chat_arguments(folder, greeting_model(folder));
  CHECK(contains(answers(chat, "/set temperature 0.25\n/set top_k=7\n/set\n"),
                 "  max_new_tokens 2\n  temperature 0.25\n  top_k 7\n  top_p 0.95\n"));
  CHECK(answers(chat, "/set max_new_tokens 1\n?\n") == "h\n");
  CHECK(
      contains(run_headlight_reading("/set temperature -1\n", chat).err, "temperature: expected"));
  CHECK(contains(run_headlight_reading("/set heat 1\n", chat).err, "--heat"));
  CHECK(contains(run_headlight_reading("/rety\n", chat).err,
                 "unknown command '/rety'; did you mean '/retry'?"));
  CHECK(contains(run_headlight_reading("/retry\n", chat).err, "no question yet"));
  CHECK(contains(run_headlight_reading("/exit now\n", chat).err, "expected no text"));
  CHECK(contains(run_headlight_reading("\xFF\n", chat).err, "the message"));
}

TEST_CASE("chat without a chat template says so", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = greeting_model(folder);
  CHECK(contains(refusal({"chat", model}), "this model has no chat template"));
  CHECK(contains(refusal({"chat", model, "--chat_template", folder.write("bad", "{{ x")}),
                 "chat template, line 1"));
}

TEST_CASE("in a terminal chat edits lines, survives errors and shows the context", "[cli]") {
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

TEST_CASE("in a terminal /save asks before it writes over a file", "[cli]") {
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

TEST_CASE("Ctrl-C stops an answer and not the chat", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = save_model(folder, "model", *lively_model(257, 4096));
  const ProgramResult result = run_headlight_typing(
      {{"> ", "a\r"}, {"\n", ""}, {"\xEF\xBF\xBD", "\x03"}, {"stopped", ""}, {"> ", "\x04"}},
      {"chat", model, "--chat_template", contents_only(folder), "--max_new_tokens", "4000"});
  INFO(result.out);
  CHECK(result.exit_code == 0);
  CHECK(contains(result.out, "stopped"));
}
