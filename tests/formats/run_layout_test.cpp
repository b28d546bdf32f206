#include "headlight/formats/run_layout.h"
#include "support/test.h"

TEST_CASE("a checkpoint's folder name gives its number of updates and other names are ignored") {
  CHECK(checkpoint_name(7) == "step_00000007");
  CHECK(checkpoint_name(123456789) == "step_123456789");
  for (const Index iteration : {Index{0}, Index{7}, Index{99999999}, Index{100000000}}) {
    CHECK(iteration_of_checkpoint(checkpoint_name(iteration)) == iteration);
  }
  for (const char* name : {"", "latest", "step_", "step_7", "step_0000000x", "step_-0000007",
                           "step_000000007", "step_00000007.tmp.12", "xstep_00000007"}) {
    INFO(name);
    CHECK(!iteration_of_checkpoint(name).has_value());
  }
}

TEST_CASE("a model is read from the folder itself or its best or latest checkpoint") {
  const TemporaryFolder folder;
  const fs::path& run = folder.path();
  const auto add = [&](const std::string& place, const std::string& file) {
    fs::create_directories(run / place);
    folder.write(place + "/" + file, "{}");
  };
  CHECK(!model_in(run).has_value());
  CHECK(!tokenizer_in(run / "nowhere").has_value());
  add("latest", "config.json");
  CHECK(model_in(run) == run / "latest");
  add("best", "config.json");
  CHECK(model_in(run) == run / "best");
  CHECK(!tokenizer_in(run).has_value());
  add("latest", "vocab.json");
  CHECK(tokenizer_in(run) == run / "latest");
  add(".", "tokenizer.json");
  CHECK(tokenizer_in(run) == run);
  add(".", "config.json");
  CHECK(model_in(run) == run);
}
