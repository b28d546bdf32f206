#include "support/test.h"

TEST_CASE("an induction head emerges with the preset on repeated random tokens only",
          "[experiment]") {
  const TemporaryFolder folder;
  const std::string root = HEADLIGHT_SOURCE_DIR;
  output_of(words("train", root + "/configs/induction.toml", "--data", root + "/data/toy.txt",
                  "--out_dir", folder.at("run"),
                  "--repeat_share 1 --max_iters 500 --lr_decay_iters 2000 --eval_interval 500 "
                  "--track_heads 250"));
  const std::vector<json> times = json_lines(folder.at("run") + "/heads.jsonl");
  REQUIRE(times.size() == 3);
  const auto induction = [](const json& time) {
    double most = 0;
    for (const json& head : time["heads"]) {
      most = std::max(most, head["induction"].get<double>());
    }
    return most;
  };
  CHECK(induction(times.front()) < 0.1);
  CHECK(induction(times.back()) > 0.8);
  CHECK(times.back()["in_context"] < -4.0);
}
