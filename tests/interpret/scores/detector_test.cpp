#include "headlight/interpret/scores/head_scores.h"
#include "interpret/planted_models.h"
#include "support/test.h"

namespace detector_test {
// Compares with results of TransformerLens's head_detector, stored by
// tools/parity/make_detector_fixture.py.

using Json = nlohmann::json;

// The model of the fixture: parameter n of transformers' GPT-2 is 0.6 sin(1.7 i + 0.9 n + 0.3),
// plus 1 for gains of norms. Both list parameters in the same order.
std::unique_ptr<Gpt> formula_model() {
  auto model =
      Gpt::blank({.vocab_size = 9, .block_size = 16, .n_layer = 2, .n_head = 2, .n_embd = 8});
  double number = 0;
  for (auto& [name, parameter] : model->parameters()) {
    const bool gain = name.find("ln_") != std::string::npos && name.ends_with("weight");
    std::vector<double> values;
    for (Index i = 0; i < parameter.numel(); ++i) {
      values.push_back(0.6 * std::sin(1.7 * static_cast<double>(i) + 0.9 * number + 0.3) +
                       (gain ? 1 : 0));
    }
    parameter.copy_from(Tensor::from(values, parameter.shape()));
    number += 1;
  }
  return model;
}

HeadScoreOptions detector_options(bool exclude_bos, bool exclude_current_token) {
  HeadScoreOptions options{.exclude_bos = exclude_bos,
                           .exclude_current_token = exclude_current_token};
  options.bootstrap.resamples = 0;
  options.repeats.sequences = 0;
  options.weight_scores = false;
  return options;
}

void check_scores(const DetectorScores& scores, const Json& expected, const std::string& measure,
                  std::size_t head) {
  INFO(measure << " of head " << head);
  const auto value = [&](const char* pattern) {
    return expected[measure + "." + pattern][head].get<double>();
  };
  CHECK(scores.previous_token_head == Approx(value("previous_token_head")).margin(1e-5));
  CHECK(scores.duplicate_token_head == Approx(value("duplicate_token_head")).margin(1e-5));
  CHECK(scores.induction_head == Approx(value("induction_head")).margin(1e-5));
}

TEST_CASE("detector scores are those of TransformerLens on the same weights", "[heads]") {
  const auto model = formula_model();
  const Json fixture =
      Json::parse(file_contents(HEADLIGHT_SOURCE_DIR "/tests/interpret/detector_fixture.json"));
  const auto sequences = fixture["sequences"].get<std::vector<Ids>>();
  REQUIRE(fixture["cases"].size() == 4);
  for (const Json& expected : fixture["cases"]) {
    INFO(expected["exclude_bos"] << " " << expected["exclude_current_token"]);
    const HeadScores scores =
        score_heads(*model, sequences,
                    detector_options(expected["exclude_bos"], expected["exclude_current_token"]));
    REQUIRE(scores.heads.size() == 4);
    for (std::size_t head = 0; head < 4; ++head) {
      check_scores(scores.heads[head].mul, expected, "mul", head);
      check_scores(scores.heads[head].abs, expected, "abs", head);
    }
  }
}

TEST_CASE("a head whose whole weight is excluded has a detector score of 0", "[heads]") {
  const PlantedModel planted;
  const HeadScores scores =
      score_heads(planted.model(), {{3}, {4, 5}}, detector_options(true, true));
  for (const ScoredHead& head : scores.heads) {
    CHECK(head.mul.previous_token_head == 0);  // the only earlier token is the first one
    CHECK(head.mul.induction_head == 0);
  }
}
}  // namespace detector_test
