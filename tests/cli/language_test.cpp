#include "support/saved_model.h"
#include "support/test.h"

// The language of the lab and of pages, without and with --lang.

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
    CHECK(contains(text, "정규화") == one.is_korean);
    CHECK(contains(text, "Both norms subtract") != one.is_korean);
  }
  const std::vector<std::string> korean{"LANG=ko_KR.UTF-8"};
  CHECK_FALSE(contains(run_headlight_with(korean, {"lab", "norms", "--lang", "en"}).out, "정규화"));
  CHECK_FALSE(contains(run_headlight_with(korean, {"lab", "norms", "--json"}).out, "배치"));
  CHECK(
      contains(run_headlight_with(korean, {"lab", "norms", "--json", "--lang", "ko"}).out, "배치"));
  CHECK_FALSE(contains(run_headlight_with(korean, {"lab", "--json"}).out, "숫자"));
  CHECK(contains(run_headlight_with(korean, {"lab"}).out, "숫자"));
}

TEST_CASE("results.json of the lab stays English in a Korean locale", "[cli]") {
  const TemporaryFolder folder;
  const std::string out = folder.at("out");
  const ProgramResult result =
      run_headlight_with({"LANG=ko_KR.UTF-8"}, {"lab", "masks", "--out", out});
  CHECK(contains(result.out, "패드가 받는 가중치는 정확히 0이다"));
  CHECK(contains(file_contents(out + "/results.json"), "The pad gets a weight of exactly 0."));
}

TEST_CASE("pages and figures of attention speak the language of the locale", "[cli]") {
  const SavedModel given;
  const std::string out = given.folder.at("out");
  const auto in_korea = [&](const Arguments& arguments) {
    return run_headlight_with({"LANG=ko_KR.UTF-8"}, arguments).out;
  };
  const Arguments draw = words("attention", given.model, "--text ab --out", out);
  in_korea(draw);
  CHECK(contains(file_contents(out + "/attention.html"), "<html lang=\"ko\">"));
  CHECK(contains(file_contents(out + "/layer_0.svg"), "어텐션 가중치"));
  in_korea(changed(draw, {"--lang", "en"}));
  CHECK(contains(file_contents(out + "/attention.html"), "<html lang=\"en\">"));
  // Text for the terminal, tables and messages do not follow it.
  CHECK(contains(in_korea(changed(draw, {"--view", "terminal"})), "rows are queries"));
  CHECK(contains(in_korea(words("heads", given.model, "--text abab")), "head"));
}
