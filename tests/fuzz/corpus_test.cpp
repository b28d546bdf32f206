#include "fuzz/targets.h"
#include "support/test.h"

// Runs the start inputs and findings of libFuzzer without libFuzzer.
TEST_CASE("no input of the fuzzing corpus causes a crash") {
  const fs::path corpus = HEADLIGHT_SOURCE_DIR "/tests/fuzz/corpus";
  for (const headlight::fuzz::Target& target : headlight::fuzz::kTargets) {
    CHECK_NOTHROW(target.run(""));  // libFuzzer's first input
    std::size_t inputs = 0;
    for (const auto& entry : fs::directory_iterator(corpus / target.name)) {
      CAPTURE(entry.path().string());
      CHECK_NOTHROW(target.run(file_contents(entry.path())));
      ++inputs;
    }
    CAPTURE(std::string(target.name));
    CHECK(inputs > 0);
  }
}

TEST_CASE("every folder of the fuzzing corpus belongs to a target") {
  for (const auto& entry : fs::directory_iterator(HEADLIGHT_SOURCE_DIR "/tests/fuzz/corpus")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    CHECK(std::count_if(headlight::fuzz::kTargets.begin(), headlight::fuzz::kTargets.end(),
                        [&](const auto& target) { return target.name == name; }) == 1);
  }
}
