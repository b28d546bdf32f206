#include "support/test.h"

std::vector<std::string> pieces_of(const Gpt& model, const GenerateOptions& options,
                                   GenerateResult& result) {
  std::vector<std::string> pieces;
  result = generate(model, ByteTokenizer(), "?", options,
                    [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

TEST_CASE("streamed pieces never cut a character") {
  const auto model = scripted_model(257, script_of("aé世🤗b"));
  GenerateResult result;
  const std::vector<std::string> pieces = pieces_of(*model, greedy(100), result);
  CHECK(pieces == std::vector<std::string>{"a", "é", "世", "🤗", "b"});
  CHECK(result.text == "aé世🤗b");
  CHECK(result.tokens.size() == 12);  // 1 + 2 + 3 + 4 + 1 bytes and the end token
}

TEST_CASE("a text that is cut off within a character ends before it") {
  const auto model = scripted_model(257, script_of("a世b"));
  GenerateResult result;
  CHECK(pieces_of(*model, greedy(3), result) == std::vector<std::string>{"a"});
  CHECK(result.text == "a");
  CHECK(result.tokens.size() == 3);
}

TEST_CASE("a text that the model ends within a character ends with U+FFFD") {
  const auto model = scripted_model(257, {'a', 0xE4, 0xB8, ByteTokenizer().end_of_text()});
  GenerateResult result;
  CHECK(pieces_of(*model, greedy(9), result) ==
        std::vector<std::string>{"a", std::string(kReplacementCharacter)});
}

TEST_CASE("streamed pieces of any bytes are UTF-8 and joined together equal the decoded text") {
  const auto model = lively_model(257, 64);
  GenerateOptions options = greedy(300);
  options.sampling.temperature = 1.5;
  options.ignore_end_of_text = true;
  GenerateResult result;
  std::string joined;
  for (const std::string& piece : pieces_of(*model, options, result)) {
    CHECK_NOTHROW(require_utf8(piece, "piece"));
    CHECK_FALSE(piece.empty());
    joined += piece;
  }
  CHECK(joined == result.text);
  CHECK(joined == ByteTokenizer().decode(result.tokens));
}

TEST_CASE("a stop text ends the output before it, across the borders of tokens") {
  const auto model = scripted_model(257, script_of("one\nUser: two"));
  GenerateOptions options = greedy(100);
  options.stop = {"\nUser:", "zebra"};
  GenerateResult result;
  const std::vector<std::string> pieces = pieces_of(*model, options, result);
  CHECK(pieces == std::vector<std::string>{"o", "n", "e"});
  CHECK(result.text == "one");
  CHECK(result.finish_reason == FinishReason::stop);
  CHECK(result.tokens == byte_ids("one\nUser:"));
}

TEST_CASE("text held back for a stop text that never comes is delivered") {
  const auto model = scripted_model(257, script_of("one\nUse"));
  GenerateOptions options = greedy(100);
  options.stop = {"\nUser:"};
  GenerateResult result;
  CHECK(pieces_of(*model, options, result) == std::vector<std::string>{"o", "n", "e", "\nUse"});
  CHECK(result.text == "one\nUse");
  CHECK(result.finish_reason == FinishReason::end_of_text);
}

TEST_CASE("the stop text is only looked for in the output") {
  const auto model = scripted_model(257, script_of("xstop"));
  GenerateOptions options = greedy(100);
  options.stop = {"?x"};
  GenerateResult result;
  pieces_of(*model, options, result);  // the prompt is "?"
  CHECK(result.text == "xstop");
}
