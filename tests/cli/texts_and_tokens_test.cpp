#include "support/saved_model.h"
#include "support/test.h"

// Texts and tokens that the program prints. sessions/generate.txt and token_reports.txt have the
// rest.

TEST_CASE("a terminal gets no control characters of prompts, models and files") {
  const TemporaryFolder folder;
  const std::string control =
      "a\x1B]0;t\x07\xC2\x9B"
      "31mb\x7F";
  const std::string model = save_model(folder, "model", *scripted_model(257, script_of(control)));
  const std::vector<std::vector<std::string>> commands{
      {"generate", model, "--prompt", "?" + control},
      {"generate", model, "--prompt", "?" + control, "--stream"},
      {"generate", model, "--prompt", "?" + control, "--json"},
      {"tokenizer", "decode", model, "--ids", "97,27,93,48,194,155,127"},
  };
  for (const std::vector<std::string>& command : commands) {
    const std::string shown = run_headlight_typing({}, command).out;
    INFO(shown);
    CHECK(contains(shown, command[0] == "generate" ? "b" : "a"));
    for (const char* sequence : {"\x1B]", "\x07", "\xC2\x9B", "\x7F"}) {
      CHECK_FALSE(contains(shown, sequence));
    }
  }
  // Other readers get the bytes.
  CHECK(output_of({"generate", model, "--prompt", "?"}) == "?" + control + "\n");
}

TEST_CASE("eval --per_token --layout text colours the text and leaves it as it is") {
  const TemporaryFolder folder;
  const CharTokenizer tokenizer = build_char_tokenizer("abcdefgh 하\n");
  const std::string model =
      save_model(folder, "model", *lively_model(tokenizer.vocab_size(), 16), tokenizer);
  const std::string file = folder.write("text.txt", "abc defgh 하 abc abc\ndefgh abc abc a bc");
  std::string text = output_of({"eval", model, "--data", file, "--per_token", "--layout", "text"});
  CHECK(contains(text, "\x1B["));
  for (std::size_t at = 0; (at = text.find("\x1B[")) != std::string::npos;) {
    text.erase(at, text.find('m', at) + 1 - at);
  }
  check_parts(text, {"nats a token", "probability of a token:"});
  const std::size_t line_end = text.find("⏎");
  if (line_end != std::string::npos) {
    text.erase(line_end, std::string("⏎").size());
  }
  CHECK(text.rfind(file_contents(file), 0) == 0);
}

TEST_CASE("eval writes the logits from which it computes the loss") {
  const TemporaryFolder folder;
  const GptConfig config{
      .vocab_size = 257, .block_size = 24, .n_layer = 1, .n_head = 2, .n_embd = 8};
  const std::string start = save_model(folder, "start", Gpt(config, 3));
  const std::string data = folder.write("short.txt", std::string(60, 'x') + "yz");
  const std::string file = folder.at("logits.npz");
  const std::string printed =
      output_of({"eval", start, "--data", data, "--logits", file, "--json"});
  const NamedTensors arrays = read_npz(file);
  REQUIRE(arrays.size() == 4);
  const Tensor& targets = arrays[1].second;
  const Tensor& logits = arrays[3].second;
  CHECK(arrays[0].second.numel() == 61);
  CHECK(targets.to_vector().back() == 'z');
  CHECK(arrays[2].second.to_vector() == std::vector<double>{0, 24, 48, 61});
  CHECK(logits.shape() == Shape{61, 257});
  CHECK(json::parse(printed)["loss"] ==
        Approx(cross_entropy(logits, targets).item()).epsilon(1e-6));
}

TEST_CASE("the tables of lens fit a terminal of 80 columns") {
  const SavedModel given;
  std::istringstream lines(
      output_of({"lens", given.model, "--text", "a text that is longer than it"}));
  std::size_t blocks = 0;
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(terminal_width(line) <= 80);
    blocks += line.rfind("layer", 0) == 0 ? 1 : 0;
  }
  CHECK(blocks > 2);
}
