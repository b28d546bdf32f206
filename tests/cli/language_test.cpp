#include "support/test.h"

namespace language_test {
// The language of the lab and of pages, without and with --lang.

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the lab speaks the language of the locale", "[cli]") {
  struct Case {
    std::vector<std::string> environment;
    bool is_korean;
  };
  const std::vector<Case> cases{{{}, false},
                                {{"LANG=ko_KR.UTF-8"}, true},
                                {{"LANG=ko"}, true},
                                {{"LANG=kok_IN"}, false},
                                {{"LANG=en_US.UTF-8", "LC_MESSAGES=ko_KR"}, true},
                                {{"LC_ALL=C", "LC_MESSAGES=ko_KR", "LANG=ko_KR"}, false},
                                {{"LC_ALL=", "LANG=ko_KR.eucKR"}, true}};
  for (const Case& one : cases) {
    const std::string text = run_headlight_with(one.environment, {"lab", "norms"}).out;
    CHECK(has(text, "정규화") == one.is_korean);
    CHECK(has(text, "Both norms subtract") != one.is_korean);
  }
  const std::vector<std::string> korean{"LANG=ko_KR.UTF-8"};
  CHECK_FALSE(has(run_headlight_with(korean, {"lab", "norms", "--lang", "en"}).out, "정규화"));
  CHECK_FALSE(has(run_headlight_with(korean, {"lab", "norms", "--json"}).out, "배치"));
  CHECK(has(run_headlight_with(korean, {"lab", "norms", "--json", "--lang", "ko"}).out, "배치"));
  CHECK_FALSE(has(run_headlight_with(korean, {"lab", "--json"}).out, "숫자"));
  CHECK(has(run_headlight_with(korean, {"lab"}).out, "숫자"));
}

TEST_CASE("results.json of the lab stays English in a Korean locale", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("out");
  const ProgramResult result =
      run_headlight_with({"LANG=ko_KR.UTF-8"}, {"lab", "masks", "--out", out});
  CHECK(has(result.out, "패드가 받는 가중치는 정확히 0이다"));
  CHECK(has(file_contents(out + "/results.json"), "The pad gets a weight of exactly 0."));
}

TEST_CASE("pages and figures of attention speak the language of the locale", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = folder.at("model");
  output_of(words(
      "train --data", folder.write("text", std::string(400, 'a') + "b"),
      "--tokenizer char --n_layer 1 --n_head 1 --n_embd 8 --block_size 8 --max_iters 1 --out_dir",
      model));
  const std::string out = folder.at("out");
  const std::vector<std::string> korean{"LANG=ko_KR.UTF-8"};
  run_headlight_with(korean, {"attention", model, "--text", "ab", "--out", out});
  CHECK(has(file_contents(out + "/attention.html"), "<html lang=\"ko\">"));
  CHECK(has(file_contents(out + "/layer_0.svg"), "어텐션 가중치"));
  run_headlight_with(korean, {"attention", model, "--text", "ab", "--out", out, "--lang", "en"});
  CHECK(has(file_contents(out + "/attention.html"), "<html lang=\"en\">"));
  // Text for the terminal, tables and messages do not follow it.
  CHECK(has(
      run_headlight_with(korean, {"attention", model, "--text", "ab", "--view", "terminal"}).out,
      "rows are queries"));
  CHECK(has(run_headlight_with(korean, {"heads", model, "--text", "abab"}).out, "head"));
}
}  // namespace language_test
