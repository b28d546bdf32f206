#include "headlight/nn/parameter_shapes.h"

#include "headlight/nn/gpt.h"
#include "support/catch.h"

using namespace headlight;

namespace {

GptConfig small() {
  GptConfig config;
  config.vocab_size = 11;
  config.block_size = 7;
  config.n_layer = 3;
  config.n_head = 2;
  config.n_embd = 6;
  return config;
}

void check_against_model(const GptConfig& config) {
  std::vector<std::pair<std::string, Shape>> actual;
  for (const auto& [name, tensor] : Gpt(config).parameters()) {
    actual.emplace_back(name, tensor.shape());
  }
  const auto expected = parameter_shapes(config);
  REQUIRE(expected.size() == actual.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO(actual[i].first);
    CHECK(expected[i].first == actual[i].first);
    CHECK(expected[i].second == actual[i].second);
  }
}

}  // namespace

TEST_CASE("the listed parameter shapes are those of the model") {
  GptConfig config = small();
  SECTION("of GPT-2") {}
  SECTION("without biases") { config.bias = false; }
  SECTION("with a head of its own") { config.tie_weights = false; }
  SECTION("with the norms behind") { config.norm = NormPosition::post; }
  SECTION("with pruned heads") {
    config.heads_per_layer = {2, 1, 2};
    config.head_width = 5;
  }
  check_against_model(config);
}

TEST_CASE("shapes of a configuration that does not validate are refused") {
  GptConfig config = small();
  config.n_head = 4;
  CHECK_THROWS_WITH(parameter_shapes(config), contains_text("4 heads do not divide n_embd 6"));
}
