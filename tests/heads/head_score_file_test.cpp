#include "headlight/heads/head_score_file.h"

#include "heads/head_experiments_support.h"
#include "io/fingerprint.h"
#include "support/program.h"

namespace head_score_file_test {

// Reads head classes from heads.json.
using namespace headlight;
using namespace headlight::test;

namespace {

std::string file_of(const std::string& fingerprint) {
  return R"({"model_fingerprint": ")" + fingerprint + R"(", "heads": [
    {"head": "0.1", "verdict": "first_token", "verdict_score": 0.5, "settled": false},
    {"head": "2.0", "verdict": "mixed", "score": 0.25}, {"head": "1.0", "verdict": "mixed"}]})";
}

}  // namespace

TEST_CASE("scores of heads are read with head names and whether each verdict is reliable",
          "[heads]") {
  const auto gpt = random_gpt(three_layers());
  const ScratchFolder folder;
  const HeadScoreFile file =
      read_head_scores(folder.write("heads.json", file_of(fingerprint(gpt->parameters()))), *gpt);
  CHECK(file.fingerprint_matches);
  REQUIRE(file.scores.size() == 2);
  CHECK(file.scores.at({0, 1}).name == "first token");
  CHECK_FALSE(file.scores.at({0, 1}).settled);
  CHECK(file.scores.at({2, 0}).score == 0.25);
  CHECK(file.scores.at({2, 0}).settled);
  CHECK_FALSE(
      read_head_scores(folder.write("old.json", R"({"heads": []})"), *gpt).fingerprint_matches);
}

TEST_CASE("scores of another model and files without scores are refused in one line", "[heads]") {
  const auto gpt = random_gpt(three_layers());
  const std::string own = fingerprint(gpt->parameters());
  silence(*gpt, 0, 0);  // another model of the same shape
  const ScratchFolder folder;
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

TEST_CASE("one score of each head is read by its name", "[heads]") {
  const auto gpt = random_gpt(three_layers());
  const ScratchFolder folder;
  const std::string path = folder.write(
      "heads.json",
      R"({"heads": [{"head": "0.1", "induction": 0.5}, {"head": "2.0", "induction": null}]})");
  const std::map<HeadId, double> scores = read_head_score(path, *gpt, "induction");
  CHECK(scores == std::map<HeadId, double>{{{0, 1}, 0.5}});
  CHECK(mentions(error_of([&] { read_head_score(path, *gpt, "copying"); }),
                 {"score: expected a score of ", "heads.json", "got 'copying'"}));
}

}  // namespace head_score_file_test
