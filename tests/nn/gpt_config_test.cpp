#include "support/test.h"

namespace gpt_config_test {
GptConfig small_config() {
  return {.vocab_size = 11, .block_size = 6, .n_layer = 3, .n_head = 4, .n_embd = 8};
}

// A change of the small configuration and the resulting error of validate().
struct Refusal {
  void (*change)(GptConfig&);
  const char* message;
};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("a configuration with valid sizes passes validation") {
  GptConfig config = small_config();
  CHECK_NOTHROW(config.validate());
  CHECK(config.heads(2) == 4);
  config.n_head = 3;
  config.head_width = 5;
  config.heads_per_layer = {3, 1, 2};
  CHECK_NOTHROW(config.validate());
  CHECK(config.heads(0) == 3);
  CHECK(config.heads(1) == 1);
  CHECK(config.heads(2) == 2);
}

TEST_CASE("validation of a configuration names the invalid size") {
  const std::vector<Refusal> refusals{
      {[](GptConfig& c) { c.vocab_size = 0; }, "vocab_size: expected 1 to 16777216, got 0"},
      {[](GptConfig& c) { c.vocab_size = Index{1} << 40; },
       "vocab_size: expected 1 to 16777216, got 1099511627776"},
      {[](GptConfig& c) { c.block_size = -3; }, "block_size: expected 1 to 16777216, got -3"},
      {[](GptConfig& c) { c.n_layer = 0; }, "n_layer: expected 1 to 4096, got 0"},
      {[](GptConfig& c) { c.n_layer = 5000; }, "n_layer: expected 1 to 4096, got 5000"},
      {[](GptConfig& c) { c.n_head = 0; }, "n_head: expected 1 to 16777216, got 0"},
      {[](GptConfig& c) { c.n_embd = 0; }, "n_embd: expected 1 to 16777216, got 0"},
      {[](GptConfig& c) { c.n_head = 3; }, "n_head: expected a divisor of n_embd 8, got 3"},
      {[](GptConfig& c) { c.head_width = -2; }, "head_width: expected 0 to 16777216, got -2"},
      {[](GptConfig& c) { c.head_width = Index{1} << 61; },
       "head_width: expected 0 to 16777216, got 2305843009213693952"},
      {[](GptConfig& c) {
         c.heads_per_layer = {4, 4};
       },
       "heads_per_layer: expected 3 numbers, got 2"},
      {[](GptConfig& c) {
         c.heads_per_layer = {4, 0, 4};
       },
       "heads_per_layer: expected 1 to 4, got 0"},
      {[](GptConfig& c) {
         c.heads_per_layer = {4, 4, 5};
       },
       "heads_per_layer: expected 1 to 4, got 5"}};
  for (const Refusal& refusal : refusals) {
    GptConfig config = small_config();
    refusal.change(config);
    CHECK_THROWS_WITH(config.validate(), refusal.message);
    CHECK_THROWS_WITH(Gpt(config), refusal.message);
    CHECK_THROWS_WITH(count_parameters(config), refusal.message);
  }
}

TEST_CASE("validation of a configuration names the invalid probability or epsilon") {
  const std::vector<Refusal> refusals{
      {[](GptConfig& c) { c.attention_dropout = 1; },
       "attention_dropout: expected 0 to below 1, got 1"},
      {[](GptConfig& c) { c.residual_dropout = -0.5; },
       "residual_dropout: expected 0 to below 1, got -0.5"},
      {[](GptConfig& c) { c.embedding_dropout = kNaN; },
       "embedding_dropout: expected 0 to below 1, got nan"},
      {[](GptConfig& c) { c.layer_norm_epsilon = 0; },
       "layer_norm_epsilon: expected a number above 0 and below 1, got 0"},
      {[](GptConfig& c) { c.layer_norm_epsilon = kNaN; },
       "layer_norm_epsilon: expected a number above 0 and below 1, got nan"}};
  for (const Refusal& refusal : refusals) {
    GptConfig config = small_config();
    refusal.change(config);
    CHECK_THROWS_WITH(config.validate(), refusal.message);
  }
}

TEST_CASE("the four sizes of GPT-2 have their published numbers of parameters") {
  GptConfig config{.vocab_size = 50257};
  CHECK(count_parameters(config).total() == 124439808);
  config.n_layer = 24;
  config.n_head = 16;
  config.n_embd = 1024;
  CHECK(count_parameters(config).total() == 354823168);
  config.n_layer = 36;
  config.n_head = 20;
  config.n_embd = 1280;
  CHECK(count_parameters(config).total() == 774030080);
  config.n_layer = 48;
  config.n_head = 25;
  config.n_embd = 1600;
  CHECK(count_parameters(config).total() == 1557611200);
}

TEST_CASE("the parts of GPT-2 small are counted one by one") {
  const ParameterCounts counts = count_parameters({.vocab_size = 50257});
  CHECK(counts.token_embedding == 50257 * 768);
  CHECK(counts.position_embedding == 1024 * 768);
  CHECK(counts.attention == 12 * (4 * 768 * 768 + 4 * 768));
  CHECK(counts.mlp == 12 * (8 * 768 * 768 + 5 * 768));
  CHECK(counts.norms == 25 * 2 * 768);
  CHECK(counts.head == 0);
}

TEST_CASE("counting parameters agrees with the models themselves") {
  for (const bool bias : {true, false}) {
    for (const bool tied : {true, false}) {
      for (const NormPosition position : {NormPosition::pre, NormPosition::post}) {
        for (const bool pruned : {true, false}) {
          GptConfig config = small_config();
          config.bias = bias;
          config.tie_weights = tied;
          config.norm = position;
          if (pruned) {
            config.head_width = 3;
            config.heads_per_layer = {4, 1, 2};
          }
          CHECK(count_parameters(config).total() == Gpt(config).parameter_count());
        }
      }
    }
  }
}

TEST_CASE("the number of parameters of a GPT does not depend on its number of heads") {
  GptConfig config = small_config();
  // V C + T C + L (12 C^2 + 13 C) + 2 C
  const Index expected = 11 * 8 + 6 * 8 + 3 * (12 * 64 + 13 * 8) + 2 * 8;
  for (const Index heads : {1, 2, 4, 8}) {
    config.n_head = heads;
    CHECK(Gpt(config).parameter_count() == expected);
    CHECK(count_parameters(config).total() == expected);
  }
  config.tie_weights = false;
  CHECK(Gpt(config).parameter_count() == expected + 11 * 8);
  CHECK(count_parameters(config).head == 11 * 8);
}

TEST_CASE("a configuration with more parameters than any memory holds is refused") {
  GptConfig config = small_config();
  config.vocab_size = Index{1} << 24;
  config.n_embd = Index{1} << 24;
  CHECK_THROWS_WITH(count_parameters(config), contains_text("the model is too large: about"));
}

TEST_CASE("original head numbers must match the heads and increase") {
  GptConfig config{.vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 8};
  config.head_numbers = {{0, 2}, {1, 5}};
  CHECK_NOTHROW(config.validate());
  CHECK(config.head_layout().numbers[1][1] == 5);
  CHECK(config.head_layout().index(1, 5) == 1);
  CHECK_FALSE(config.head_layout().index(1, 0).has_value());
  CHECK_FALSE(config.head_layout().index(2, 0).has_value());
  const auto refused = [&](std::vector<std::vector<Index>> numbers, const char* message) {
    config.head_numbers = std::move(numbers);
    CHECK_THROWS_WITH(config.validate(), contains_text(message));
  };
  refused({{0, 1}}, "head_numbers: expected 2 lists, got 1");
  refused({{0, 1}, {0}}, "head_numbers: expected 2 for layer 1, got 1");
  refused({{0, 1}, {1, 1}},
          "head_numbers: expected increasing numbers from 0 to 524287 for layer 1, got 1");
  refused({{-1, 1}, {0, 1}},
          "head_numbers: expected increasing numbers from 0 to 524287 for layer 0, got -1");
  refused({{0, 524288}, {0, 1}}, "from 0 to 524287 for layer 0, got 524288");
}
}  // namespace gpt_config_test
