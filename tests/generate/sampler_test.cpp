#include "support/test.h"

namespace sampler_test {

// Logits [V] whose softmax is `probabilities`.
Tensor logits_of(const std::vector<double>& probabilities) {
  std::vector<double> logits;
  for (const double probability : probabilities) {
    logits.push_back(std::log(probability) + 3.0);  // softmax does not change with the 3
  }
  return Tensor::from(logits, {static_cast<Index>(logits.size())});
}

Tensor tensor_of(const std::vector<double>& logits) {
  return Tensor::from(logits, {static_cast<Index>(logits.size())});
}

std::map<std::int32_t, double> distribution(const SamplingOptions& options, const Tensor& logits,
                                            const Ids& history = {}, const Ids& excluded = {}) {
  std::map<std::int32_t, double> result;
  for (const auto& token : Sampler(options, 0, excluded).distribution(logits, history)) {
    result[token.id] = token.probability;
  }
  return result;
}

using Chances = std::map<std::int32_t, double>;

void check_chances(const SamplingOptions& options, const Tensor& logits, const Chances& expected,
                   const Ids& history = {}, const Ids& excluded = {}) {
  const Chances got = distribution(options, logits, history, excluded);
  REQUIRE(got.size() == expected.size());
  for (const auto& [id, probability] : expected) {
    REQUIRE(got.count(id) == 1);
    CHECK(got.at(id) == Approx(probability).epsilon(1e-12));
  }
}

std::string error_of(const SamplingOptions& options, const Tensor& logits, const Ids& history = {},
                     const Ids& excluded = {}) {
  return test::error_of([&] { Sampler(options, 0, excluded).distribution(logits, history); });
}

TEST_CASE("at temperature 0 the sampler takes the first likeliest token that is not excluded") {
  const SamplingOptions greedy{.temperature = 0};
  std::vector<float> logits(3000, -1.0F);
  logits[2100] = 5;
  logits[2900] = 5;
  CHECK(Sampler(greedy).next(logits, {}) == 2100);
  CHECK(Sampler(greedy, 0, {7, 2100}).next(logits, {}) == 2900);
  std::vector<char> allowed(3000, 1);
  allowed[2100] = 0;
  CHECK(Sampler(greedy).next(logits, {}, allowed) == 2900);
  SamplingOptions biased = greedy;
  biased.logit_bias = {{.token = 3, .bias = 10}};
  CHECK(Sampler(biased).next(logits, {}) == 3);
  logits[1] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(Sampler(greedy).next(logits, {}), Error);
}

TEST_CASE("without any filter the distribution is the softmax of the logits") {
  check_chances({}, logits_of({0.5, 0.125, 0.25, 0.125}),
                {{0, 0.5}, {1, 0.125}, {2, 0.25}, {3, 0.125}});
  check_chances({}, tensor_of({7.0}), {{0, 1.0}});
  // Logits far outside the range of exp.
  check_chances({}, tensor_of({10000.0, 10000.0, -10000.0}), {{0, 0.5}, {1, 0.5}, {2, 0.0}});
}

TEST_CASE("temperature divides the logits") {
  // sqrt(0.64) : sqrt(0.36) = 0.8 : 0.6, squares 0.4096 : 0.1296.
  check_chances({.temperature = 2}, logits_of({0.64, 0.36}), {{0, 0.8 / 1.4}, {1, 0.6 / 1.4}});
  check_chances({.temperature = 0.5}, logits_of({0.64, 0.36}),
                {{0, 0.4096 / 0.5392}, {1, 0.1296 / 0.5392}});
}

TEST_CASE("temperature 0 always takes the likeliest token, the lowest id of several") {
  check_chances({.temperature = 0}, tensor_of({1, 3, 2, 3}), {{1, 1.0}});
  check_chances({.temperature = 0}, tensor_of({-5}), {{0, 1.0}});
  // The penalty comes first: 3 / 2 is less than 2.
  check_chances({.repetition_penalty = 2, .temperature = 0}, tensor_of({1, 3, 2}), {{2, 1.0}}, {1});
}

TEST_CASE("extreme temperatures give finite probabilities") {
  for (const double temperature : {1e-9, 1e-300, 5e-324}) {
    check_chances({.temperature = temperature}, tensor_of({40, 41, -90}),
                  {{0, 0.0}, {1, 1.0}, {2, 0.0}});
  }
  check_chances({.temperature = 100}, tensor_of({4e-14, -4e-14}), {{0, 0.5}, {1, 0.5}});
  // The probabilities are equal after rounding, but top_k still compares the logits.
  check_chances({.temperature = 100, .top_k = 1}, tensor_of({-4e-14, 4e-14}), {{1, 1.0}});
}

TEST_CASE("top_k keeps the likeliest tokens and never more than there are") {
  const Tensor logits = logits_of({0.1, 0.4, 0.2, 0.3});
  check_chances({.top_k = 1}, logits, {{1, 1.0}});
  check_chances({.top_k = 2}, logits, {{1, 4.0 / 7}, {3, 3.0 / 7}});
  const std::map<std::int32_t, double> all{{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}};
  check_chances({.top_k = 4}, logits, all);
  check_chances({.top_k = 1000000}, logits, all);
  check_chances({.top_k = 0}, logits, all);
  // Among equal tokens the lower ids stay.
  check_chances({.top_k = 2}, tensor_of({1, 2, 2, 2}), {{1, 0.5}, {2, 0.5}});
}

TEST_CASE("top_p keeps the likeliest tokens up to the sum that crosses it") {
  const Tensor logits = logits_of({0.1, 0.4, 0.2, 0.3});
  check_chances({.top_p = 0}, logits, {{1, 1.0}});
  check_chances({.top_p = 0.39}, logits, {{1, 1.0}});
  check_chances({.top_p = 0.41}, logits, {{1, 4.0 / 7}, {3, 3.0 / 7}});
  check_chances({.top_p = 0.69}, logits, {{1, 4.0 / 7}, {3, 3.0 / 7}});
  check_chances({.top_p = 0.71}, logits, {{1, 4.0 / 9}, {2, 2.0 / 9}, {3, 3.0 / 9}});
  // The token that reaches the sum exactly is the last.
  check_chances({.top_p = 0.5}, tensor_of({2, 2, 2, 2}), {{0, 0.5}, {1, 0.5}});
  check_chances({.top_p = 1}, logits, {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}});
}

TEST_CASE("min_p drops tokens below a share of the likeliest") {
  const Tensor logits = logits_of({0.1, 0.4, 0.2, 0.3});
  check_chances({.min_p = 0.24}, logits, {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}});
  check_chances({.min_p = 0.26}, logits, {{1, 4.0 / 9}, {2, 2.0 / 9}, {3, 3.0 / 9}});
  check_chances({.min_p = 0.74}, logits, {{1, 4.0 / 7}, {3, 3.0 / 7}});
  check_chances({.min_p = 1}, logits, {{1, 1.0}});
}

TEST_CASE("the filters run in their order: penalty, temperature, top_k, top_p, min_p") {
  // top_p gets the result of top_k, renormalised: 0.4 / 0.7 = 0.571 is already above 0.5.
  check_chances({.top_k = 2, .top_p = 0.5}, logits_of({0.1, 0.4, 0.2, 0.3}), {{1, 1.0}});
  // Temperature 2 turns 0.81 : 0.09 : 0.09 : 0.01 into 9 : 3 : 3 : 1, of which 9 / 16 < 0.6.
  check_chances({.temperature = 2, .top_p = 0.6}, logits_of({0.81, 0.09, 0.09, 0.01}),
                {{0, 0.75}, {1, 0.25}});
  // min_p compares the probabilities after temperature: 3 / 9 passes, 1 / 9 does not.
  check_chances({.temperature = 2, .min_p = 0.2}, logits_of({0.81, 0.09, 0.09, 0.01}),
                {{0, 0.6}, {1, 0.2}, {2, 0.2}});
}

TEST_CASE("the repetition penalty divides positive and multiplies negative logits, once each") {
  const Tensor logits = tensor_of({2, -1, 0, 1});
  const double sum = std::exp(1.0) + std::exp(-2.0) + std::exp(0.0) + std::exp(1.0);
  check_chances({.repetition_penalty = 2}, logits,
                {{0, std::exp(1.0) / sum},
                 {1, std::exp(-2.0) / sum},
                 {2, std::exp(0.0) / sum},
                 {3, std::exp(1.0) / sum}},
                {0, 1, 0, 2, 1, 0});
}

TEST_CASE("the repetition window counts from the end of the history") {
  const Tensor logits = tensor_of({2, 2, 2});
  const SamplingOptions one{.repetition_penalty = 2, .repetition_window = 1, .temperature = 0};
  check_chances(one, logits, {{0, 1.0}}, {0, 1});
  check_chances(one, logits, {{1, 1.0}}, {1, 0});
  SamplingOptions two = one;
  two.repetition_window = 2;
  check_chances(two, logits, {{2, 1.0}}, {2, 1, 0});
  two.repetition_window = 50;
  check_chances(two, logits, {{2, 1.0}}, {1, 0});
}

TEST_CASE("extreme penalties leave every token possible") {
  const Tensor logits = tensor_of({-1e10, -1e10});
  check_chances({.repetition_penalty = 100}, logits, {{0, 0.5}, {1, 0.5}}, {0, 1});
  check_chances({.repetition_penalty = 0.01}, tensor_of({5, 5}), {{0, 0.5}, {1, 0.5}}, {0, 1});
}

TEST_CASE("excluded tokens and tokens of probability 0 are never chosen") {
  check_chances({}, tensor_of({1, -kInfinity, 1, 9}), {{0, 0.5}, {2, 0.5}}, {}, {3});
  check_chances({.temperature = 0}, tensor_of({1, 9}), {{0, 1.0}}, {}, {1});
  check_chances({}, tensor_of({1, 9}), {{0, 1.0}}, {}, {1, 77});
  CHECK(error_of({}, tensor_of({1, 9}), {}, {0, 1}) ==
        "[Sampler] none of the 2 tokens is possible");
  CHECK(error_of({}, tensor_of({-kInfinity})) == "[Sampler] none of the 1 tokens is possible");
}

TEST_CASE("a penalty does not make an impossible token possible") {
  check_chances({.repetition_penalty = 2}, tensor_of({-1e308, -kInfinity}), {{0, 1.0}}, {0, 1});
}

TEST_CASE("a draw takes the token whose cumulative probability range holds the random number") {
  const std::vector<TokenProbability> tokens{{4, 0.25}, {7, 0.0}, {8, 0.5}, {9, 0.25}};
  CHECK(choose_token(tokens, 0.0) == 4);
  CHECK(choose_token(tokens, 0.2499) == 4);
  CHECK(choose_token(tokens, 0.25) == 8);
  CHECK(choose_token(tokens, 0.7499) == 8);
  CHECK(choose_token(tokens, 0.75) == 9);
  CHECK(choose_token(tokens, 0.99999) == 9);
  // A token with probability 0 is never chosen, neither first nor last.
  const std::vector<TokenProbability> rounded{{1, 0.0}, {2, 0.9999}, {3, 0.0}};
  CHECK(choose_token(rounded, 0.0) == 2);
  CHECK(choose_token(rounded, 0.99999) == 2);
  CHECK_THROWS_AS(choose_token({}, 0.5), Error);
}

TEST_CASE("draw n of a sample depends only on the seed and the sample and n") {
  const std::vector<float> logits(4, 0.25F);
  const auto draws = [&](std::uint64_t seed, Index sample) {
    Sampler sampler({.seed = seed}, sample);
    return counted<std::int32_t>(40, [&](int) { return sampler.next(logits, {}); });
  };
  CHECK(draws(1, 0) == draws(1, 0));
  CHECK(draws(1, 0) != draws(1, 1));
  CHECK(draws(1, 0) != draws(2, 0));
  // Greedy choices also use up draws: the third choice uses the third number.
  Sampler sampler({.seed = 1});
  const std::vector<float> single(1, 1.0F);
  sampler.next(single, {});
  sampler.next(single, {});
  CHECK(sampler.next(logits, {}) == draws(1, 0)[2]);
}

TEST_CASE("float32 logits give the same choice as float64") {
  const Tensor wide = tensor_of({0.5, 2.25, -1.5});
  check_chances({}, convert(wide, DType::float32), distribution({}, wide));
}

TEST_CASE("NaN logits are refused with an error that names them") {
  const std::string cause =
      "the model's weights may be damaged, or its keys and values are above the 65,504 of float16 "
      "(then use --cache_type float32)";
  CHECK(error_of({}, tensor_of({1, std::nan(""), 2})) ==
        "[Sampler] the logits are not finite: the logit of token 1 is NaN: " + cause);
  CHECK(error_of({.temperature = 0}, tensor_of({1, 2, kInfinity})) ==
        "[Sampler] the logits are not finite: the logit of token 2 is infinite: " + cause);
  CHECK(error_of({}, Tensor::zeros({2, 2})) == "[Sampler] expected logits [V]");
  CHECK(error_of({}, Tensor::zeros({0})) == "[Sampler] expected logits [V]");
  CHECK(error_of({}, Tensor()) == "[Sampler] expected logits [V]");
}

TEST_CASE("a history with ids outside the vocabulary is refused") {
  const SamplingOptions options{.repetition_penalty = 1.5};
  CHECK(error_of(options, tensor_of({1, 2}), {0, 2}) ==
        "[Sampler] expected ids below 2 in the history, got 2");
  CHECK(error_of(options, tensor_of({1, 2}), {-1}) ==
        "[Sampler] expected ids below 2 in the history, got -1");
}

TEST_CASE("options out of range are refused by name") {
  const double nan = std::nan("");
  const Tensor logits = tensor_of({1, 2});
  const auto starts = [&](const SamplingOptions& options, const std::string& start) {
    INFO(start);
    CHECK(error_of(options, logits).rfind(start, 0) == 0);
  };
  starts({.repetition_penalty = 0},
         "repetition_penalty: expected a number from 0.01 to 100, got 0");
  starts({.repetition_penalty = nan}, "repetition_penalty:");
  starts({.repetition_window = -1}, "repetition_window: expected a number from 0, got -1");
  starts({.temperature = -0.5}, "temperature: expected a number from 0 to 100, got -0.5");
  starts({.temperature = kInfinity}, "temperature:");
  starts({.temperature = nan}, "temperature:");
  starts({.temperature = 101}, "temperature:");
  starts({.presence_penalty = 2.5}, "presence_penalty: expected a number from -2 to 2, got 2.5");
  starts({.top_k = -2}, "top_k: expected a number from 0, got -2");
  starts({.top_p = 1.5}, "top_p: expected a number from 0 to 1, got 1.5");
  starts({.top_p = nan}, "top_p:");
  starts({.min_p = -0.1}, "min_p: expected a number from 0 to 1, got -0.1");
  starts({.min_p = nan}, "min_p:");
  CHECK_THROWS_AS(Sampler({}, -1), Error);
}
}  // namespace sampler_test
