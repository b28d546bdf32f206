#include "headlight/show/attention/attention_text.h"
#include "show/attention_samples.h"
#include "show/report/parts/terminal_text.h"
#include "support/test.h"

namespace attention_text_test {
std::string text_of(const AttentionMaps& maps, const AttentionTextOptions& options = {}) {
  return attention_text(maps, maps.layers.front(), 0, options);
}

TEST_CASE("Hangul and emoji take two columns of a terminal and combining marks none") {
  REQUIRE(terminal_width("abc") == 3);
  REQUIRE(terminal_width("한국") == 4);
  REQUIRE(terminal_width("🙂") == 2);
  REQUIRE(terminal_width("e\u0301") == 1);
  REQUIRE(terminal_width("·⏎…") == 3);
  REQUIRE(terminal_characters("e\u0301x") == std::vector<std::string>{"e\u0301", "x"});
  REQUIRE(terminal_characters("👩\u200D🔬") == std::vector<std::string>{"👩", "🔬"});
  REQUIRE(terminal_label({"한", "국", "어"}, 6) == "한국어");
  REQUIRE(terminal_label({"한", "국", "어"}, 5) == "한국…");
}

TEST_CASE("A map with enough room prints percentages under the labels of the keys") {
  const AttentionMaps maps = one_layer({"a", " 한", "🙂"}, 2, {7},
                                       {1, 0, 0, 0.25F, 0.75F, 0,  //
                                        0.004F, 0.126F, 0.87F});
  REQUIRE(text_of(maps) ==
          "model head 2.7  rows are queries, columns keys; per cent of the row\n"
          "         a ·한  🙂 \n"
          "0 a    100\n"
          "1 ·한   25  75\n"
          "2 🙂     .  13  87\n");
}

TEST_CASE("A longer map prints tenths and writes the labels of the keys downwards") {
  std::vector<float> weights(30 * 30, 0.0F);
  for (std::size_t query = 0; query < 30; ++query) {
    weights[query * 30 + query / 2] = 1.0F;
  }
  std::vector<std::string> tokens(30, "ab");
  tokens[3] = "한국";
  const std::vector<std::string> lines =
      lines_of(text_of(one_layer(tokens, 0, {0}, weights), {.columns = 80}));
  REQUIRE(lines.size() == 33);
  REQUIRE(contains(lines[0], "tenths, . is under 0.05"));
  REQUIRE(lines[1].substr(0, 18) == "         a a a 한");
  REQUIRE(lines[2].substr(0, 18) == "         b b b 국");
  REQUIRE(lines[3] == " 0 ab    9");
  REQUIRE(lines[7] == " 4 ab    . . 9 . .");
  REQUIRE(lines[6] == " 3 한국  . 9 . .");
}

TEST_CASE("One long label does not remove the others from a map that barely has room") {
  std::vector<std::string> tokens(30, "ab");
  tokens[0] = "<|endoftext|>";
  const AttentionMaps maps = one_layer(tokens, 0, {0}, std::vector<float>(30 * 30, 1.0F / 30.0F));
  const auto row = [&](Index columns, std::size_t query) {
    const std::vector<std::string> lines = lines_of(text_of(maps, {.columns = columns}));
    return lines[lines.size() - 30 + query];
  };
  CHECK(row(70, 0).rfind(" 0 <|en…  ", 0) == 0);  // 60 columns of cells leave 5 for labels
  CHECK(row(70, 1).rfind(" 1 ab     ", 0) == 0);
  // In a narrower terminal, a cell combines several tokens, and their labels.
  const std::vector<std::string> lines = lines_of(text_of(maps, {.columns = 65}));
  CHECK(contains(lines[0], "each cell the maximum of 2 × 2"));
  CHECK(lines.back().rfind("28 abab ", 0) == 0);
}

TEST_CASE("A map too long for the terminal shows the largest weight of every block") {
  std::vector<float> weights(100 * 100, 0.0F);
  for (std::size_t query = 0; query < 100; ++query) {
    weights[query * 100] = 1.0F;
  }
  weights[50 * 100 + 31] = 0.4F;
  const std::vector<std::string> lines =
      lines_of(text_of(one_layer(numbered_tokens(100), 0, {0}, weights), {.columns = 60}));
  REQUIRE(contains(lines[0], "each cell the maximum of 5 × 5"));
  REQUIRE(lines.size() == 2 + 10 + 20);  // title and positions, vertical labels of keys, cells
  REQUIRE(lines[1] == std::string(19, ' ') + "0         25        50        75");
  REQUIRE(lines[2].substr(19, 6) == "t t t ");
  REQUIRE(lines[11].substr(19, 8) == "4 9 … ");
  REQUIRE(lines[22] == "50 t50t51t52t53t…  9 . . . . . 4 . . . .");
  for (const std::string& line : lines) {
    REQUIRE((line == lines[0] || terminal_width(line) <= 60));
  }
}

TEST_CASE("Larger weights contrast more with the background of the terminal") {
  const AttentionMaps maps = one_layer({"a", "b"}, 0, {0}, {1, 0, 0, 1});
  const std::string text = text_of(maps, {.columns = 80, .colours = true, .light_ground = true});
  REQUIRE(contains(text, "\x1b[48;5;17;38;5;255m100 \x1b[0m"));  // dark on light
  REQUIRE(contains(text, "\x1b[48;5;231;38;5;16m  . \x1b[0m"));
}

TEST_CASE("A coloured map sets a background for every weight and resets it") {
  const AttentionMaps maps = one_layer({"a", "b"}, 0, {0}, {1, 0, 0, 1});
  const std::string text = text_of(maps, {.columns = 80, .colours = true});
  check_parts(text, {"\x1b[48;5;231;38;5;16m100 \x1b[0m", "\x1b[48;5;234;38;5;255m  . \x1b[0m"});
  REQUIRE(occurrences(text, "\x1b[0m") == 3 + 1);  // three weights and the scale
}

TEST_CASE("A map is titled with the class of its head and rows that do not exist are refused") {
  AttentionMaps maps = one_layer({"a"}, 0, {5}, {1});
  maps.scores[{0, 5}] = {"previous\ntoken", 0.97};
  REQUIRE(contains(text_of(maps), "\nprevious\ntoken, score 97 %\n"));
  maps.scores[{0, 5}] = {"first token", 0.97, false};
  REQUIRE(contains(text_of(maps), "\nfirst token ?, score 97 %\n"));
  REQUIRE(error_of([&] { attention_text(maps, maps.layers[0], 1); }) ==
          "[attention_text] expected a row from 0 to 0, got 1");
}
}  // namespace attention_text_test
