#include "support/models/drawn_config.h"
#include "support/test.h"

namespace architecture_test {
GptConfig small() {
  GptConfig config{.vocab_size = 11, .block_size = 7, .n_layer = 3, .n_head = 2, .n_embd = 6};
  return config;
}

void check_against_model(const GptConfig& config) {
  std::vector<std::pair<std::string, Shape>> actual;
  const Gpt gpt(config);
  for (const auto& [name, tensor] : gpt.parameters()) {
    actual.emplace_back(name, tensor.shape());
  }
  CHECK(count_parameters(config).total() == gpt.parameter_count());
  const std::vector<Weight> expected = weights_of(config);
  REQUIRE(expected.size() == actual.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO(actual[i].first);
    CHECK(expected[i].name == actual[i].first);
    CHECK(expected[i].shape == actual[i].second);
  }
}

TEST_CASE("the listed and counted weights are those of the model") {
  for (const GptConfig& config : configs_of_all_kinds()) {
    check_against_model(config);
  }
  for (int number = 0; number < 200; ++number) {
    check_against_model(drawn_config(number));
  }
}

TEST_CASE("weights of a configuration that does not validate are refused") {
  GptConfig config = small();
  config.n_head = 4;
  CHECK_THROWS_WITH(weights_of(config), contains_text("expected a divisor of n_embd 6, got 4"));
}

TEST_CASE("a training step costs 6 FLOPs per weight and token and 12 H D per visible pair") {
  GptConfig config{
      .vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 16, .bias = false};
  // Weights in products: 2 layers x 12 x 16^2 + 11 x 16 = 6320. Sequences of 8, 1 and 3 tokens have
  // 36 + 1 + 6 = 43 visible pairs.
  CHECK(training_flops(config, {0, 8, 9, 12}) == 6.0 * 6320 * 12 + 12.0 * 16 * 2 * 43);
  CHECK(training_flops(config, {0}) == 0);
  // With a window of 3 tokens in one layer, the sequences have 21 + 1 + 6 = 28 pairs there.
  config.windows = {0, 3};
  CHECK(training_flops(config, {0, 8, 9, 12}) == 6.0 * 6320 * 12 + 12.0 * 16 * (43 + 28));
  CHECK(training_flops_per_token(config) == 6.0 * 6320 + 12.0 * 16 * (8 + 3));
}

TEST_CASE("biases, norms and tying do not change the FLOPs of a step") {
  GptConfig config{.vocab_size = 11, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 16};
  const double flops = training_flops(config, {0, 8});
  config.bias = false;
  config.tie_weights = false;
  CHECK(training_flops(config, {0, 8}) == flops);
}

TEST_CASE("pruned heads cost nothing") {
  GptConfig config{.vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 16};
  config.head_width = 8;
  config.heads_per_layer = {2, 1};
  // Attention weights: 4 x 16 x (16 + 8); pairs over inner widths 16 and 8.
  CHECK(training_flops(config, {0, 8}) ==
        6.0 * (4 * 16 * 24 + 2 * 8 * 256 + 176) * 8 + 12.0 * 24 * 36);
  config.n_layer = 0;
  CHECK_THROWS_AS(training_flops(config, {0, 8}), Error);
}

TEST_CASE("the list of weights marks those in products and those of heads") {
  GptConfig config = small();
  std::vector<std::string> looked_up;
  std::vector<std::string> of_heads;
  for (const Weight& weight : weights_of(config)) {
    if (weight.shape.rank() == 2 && !weight.multiplied) {
      looked_up.push_back(weight.name);
    }
    if (weight.heads != HeadAxis::none && weight.layer == 1) {
      of_heads.push_back(weight.name);
    }
  }
  CHECK(looked_up == std::vector<std::string>{"wpe.weight"});  // a tied wte is the head
  CHECK(of_heads == std::vector<std::string>{"h.1.attn.c_attn.weight", "h.1.attn.c_attn.bias",
                                             "h.1.attn.c_proj.weight"});
  config.tie_weights = false;
  CHECK(!weights_of(config)[0].multiplied);
  CHECK(weights_of(config).back().multiplied);
}
}  // namespace architecture_test
