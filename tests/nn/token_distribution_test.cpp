#include "support/test.h"

TEST_CASE("a token distribution is the softmax of the logits") {
  const std::vector<float> logits{1, 3, 2, 3, -2};
  const TokenDistribution expected(logits);
  const double sum = sum_of<double>(logits, [&](double logit) { return std::exp(logit); });
  double entropy = 0;
  for (std::int32_t id = 0; id < 5; ++id) {
    const double log_probability = logits[static_cast<std::size_t>(id)] - std::log(sum);
    CHECK(expected.log_probability(id) == Approx(log_probability).epsilon(1e-12));
    entropy -= std::exp(log_probability) * log_probability;
  }
  CHECK(expected.entropy() == Approx(entropy).epsilon(1e-12));
}

TEST_CASE("ranks count from the likeliest token with ties in order of ids") {
  const std::vector<float> logits{1, 3, 2, 3, -2};
  const TokenDistribution expected(logits);
  const std::vector<Index> ranks{4, 1, 3, 2, 5};
  for (std::int32_t id = 0; id < 5; ++id) {
    CHECK(expected.rank(id) == ranks[static_cast<std::size_t>(id)]);
  }
  const std::vector<TokenLogProbability> top = expected.likeliest(3);
  REQUIRE(top.size() == 3);
  CHECK(top[0].token == 1);
  CHECK(top[1].token == 3);
  CHECK(top[2].token == 2);
  CHECK(top[2].log_probability == expected.log_probability(2));
  CHECK(expected.likeliest(99).size() == 5);
  CHECK(expected.likeliest(0).empty());
}

TEST_CASE("large logits overflow nothing, and impossible tokens stay impossible") {
  const float none = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits{3e38F, none, 3e38F};
  const TokenDistribution expected(logits);
  CHECK(expected.log_probability(0) == Approx(-std::log(2)));
  CHECK(expected.log_probability(1) == -std::numeric_limits<double>::infinity());
  CHECK(expected.entropy() == Approx(std::log(2)));
  CHECK(expected.rank(1) == 3);
}

TEST_CASE("the cross-entropy of a distribution under its own probabilities is its entropy") {
  const float none = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits{1, 3, none, 2};
  const std::vector<float> others{2, -1, 4, 0.5F};
  const TokenDistribution one(logits);
  const TokenDistribution other(others);
  const std::vector<double> probabilities = one.probabilities();
  double cross_entropy = 0;
  for (const std::int32_t id : {0, 1, 3}) {
    CHECK(probabilities[static_cast<std::size_t>(id)] ==
          Approx(std::exp(one.log_probability(id))).epsilon(1e-12));
    cross_entropy -= std::exp(one.log_probability(id)) * other.log_probability(id);
  }
  CHECK(probabilities[2] == 0);
  CHECK(one.cross_entropy(probabilities) == Approx(one.entropy()).epsilon(1e-12));
  CHECK(other.cross_entropy(probabilities) == Approx(cross_entropy).epsilon(1e-12));
  CHECK(std::isinf(one.cross_entropy(other.probabilities())));
  const std::vector<float> large{3e38F, none, 3e38F};
  const TokenDistribution even(large);
  CHECK(even.cross_entropy(even.probabilities()) == Approx(std::log(2)));
  check_error([&] { one.cross_entropy(even.probabilities()); }, {"4", "got 3"});
}

TEST_CASE("a token distribution refuses ids outside the vocabulary") {
  const std::vector<float> logits{1, 2};
  const TokenDistribution expected(logits);
  check_error([&] { expected.log_probability(2); }, {"from 0 to 1", "got 2"});
  check_error([&] { expected.rank(-1); }, {"from 0 to 1", "got -1"});
  check_error([] { TokenDistribution(std::span<const float>()); }, {"logits [V]"});
}
