#include "headlight/interpret/scores/head_score_file.h"
#include "datasets/fingerprint.h"
#include "interpret/head_experiments_support.h"
#include "nn/packed/packed_weight.h"
#include "support/test.h"

// Reads head classes from heads.json.

std::string file_of(const std::string& fingerprint) {
  return R"({"model_fingerprint": ")" + fingerprint + R"(", "heads": [
    {"head": "0.1", "verdict": "first_token", "verdict_score": 0.5, "settled": false},
    {"head": "2.0", "verdict": "mixed", "score": 0.25}, {"head": "1.0", "verdict": "mixed"}]})";
}

TEST_CASE("scores of heads are read with head names and whether each verdict is reliable") {
  const auto gpt = random_gpt(three_layers());
  const TemporaryFolder folder;
  const HeadScoreFile file =
      read_head_scores(folder.write("heads.json", file_of(fingerprint(gpt->parameters()))), *gpt);
  CHECK(file.doubt.empty());
  REQUIRE(file.scores.size() == 2);
  CHECK(file.scores.at({0, 1}).name == "first token");
  CHECK_FALSE(file.scores.at({0, 1}).significant);
  CHECK(file.scores.at({2, 0}).score == 0.25);
  CHECK(file.scores.at({2, 0}).significant);
  CHECK(mentions(read_head_scores(folder.write("old.json", R"({"heads": []})"), *gpt).doubt,
                 {"old.json: contains no model_fingerprint"}));
}

TEST_CASE("scores of another model and files without scores are refused in one line") {
  const auto gpt = random_gpt(three_layers());
  const std::string own = fingerprint(gpt->parameters());
  silence(*gpt, 0, 0);  // another model of the same shape
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& contents) {
    const std::string path = folder.write("heads.json", contents);
    return error_of([&] { read_head_scores(path, *gpt); });
  };
  CHECK(mentions(refusal(file_of(own)),
                 {"heads.json", "this model", fingerprint(gpt->parameters()), own}));
  CHECK(mentions(refusal("[1]"), {"heads.json", "expected {\"heads\": ["}));
  CHECK(mentions(refusal(R"({"heads": 3})"), {"heads.json", "expected"}));
  CHECK(mentions(refusal(R"({"heads": [], "model_fingerprint": 3})"), {"heads.json", "expected"}));
  CHECK(mentions(refusal(R"({"heads": [{"head": "7.0", "verdict": "x", "score": 1}]})"),
                 {"heads.json", "7.0"}));
}

TEST_CASE("scores are compared with a packed model unless its weights were rounded") {
  const TemporaryFolder folder;
  const auto gpt = random_gpt(three_layers(), DType::float32);
  const std::string own = folder.write("heads.json", file_of(fingerprint(*gpt)));
  const auto packed = [](WeightFormat format, Index silenced) {
    auto model = random_gpt(three_layers(), DType::float32);
    if (silenced >= 0) {
      silence(*model, silenced, 0);
    }
    pack_all_matrices(*model, format);
    return model;
  };
  CHECK(read_head_scores(own, *packed(WeightFormat::float32, -1)).doubt.empty());
  check_error([&] { read_head_scores(own, *packed(WeightFormat::float32, 0)); },
              {"expected the scores of this model"});
  const auto rounded = packed(WeightFormat::int8, -1);
  CHECK(mentions(read_head_scores(own, *rounded).doubt, {"heads.json", "are rounded"}));
  const std::string same = folder.write("same.json", file_of(fingerprint(*rounded)));
  CHECK(read_head_scores(same, *rounded).doubt.empty());
}

TEST_CASE("one score of each head is read by its name") {
  const auto gpt = random_gpt(three_layers());
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "heads.json",
      R"({"heads": [{"head": "0.1", "induction": 0.5}, {"head": "2.0", "induction": null}]})");
  const HeadScoreColumn column = read_head_score(path, *gpt, "induction");
  CHECK(column.scores == std::map<HeadId, double>{{{0, 1}, 0.5}});
  check_error([&] { read_head_score(path, *gpt, "copying"); },
              {"score: expected a score of ", "heads.json", "got 'copying'"});
}
