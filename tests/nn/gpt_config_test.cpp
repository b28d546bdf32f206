#include "support/test.h"

namespace gpt_config_test {
GptConfig small_config() {
  return {.vocab_size = 11, .block_size = 6, .n_layer = 3, .n_head = 4, .n_embd = 8};
}

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

void check_refused(const GptConfig& config, const std::string& message) {
  CHECK_THROWS_WITH(config.validate(), message);
  CHECK_THROWS_WITH(Gpt(config), message);
  CHECK_THROWS_WITH(count_parameters(config), message);
}

TEST_CASE("validation of a configuration names the invalid value") {
  struct Size {
    Index GptConfig::*member;
    Index value;
    const char* message;
  };
  const Size sizes[] = {{&GptConfig::vocab_size, 0, "vocab_size: expected 1 to 16777216, got 0"},
                        {&GptConfig::vocab_size, Index{1} << 40,
                         "vocab_size: expected 1 to 16777216, got 1099511627776"},
                        {&GptConfig::block_size, -3, "block_size: expected 1 to 16777216, got -3"},
                        {&GptConfig::n_layer, 0, "n_layer: expected 1 to 4096, got 0"},
                        {&GptConfig::n_layer, 5000, "n_layer: expected 1 to 4096, got 5000"},
                        {&GptConfig::n_head, 0, "n_head: expected 1 to 16777216, got 0"},
                        {&GptConfig::n_embd, 0, "n_embd: expected 1 to 16777216, got 0"},
                        {&GptConfig::n_head, 3, "n_head: expected a divisor of n_embd 8, got 3"},
                        {&GptConfig::head_width, -2, "head_width: expected 0 to 16777216, got -2"},
                        {&GptConfig::head_width, Index{1} << 61,
                         "head_width: expected 0 to 16777216, got 2305843009213693952"}};
  for (const Size& row : sizes) {
    GptConfig config = small_config();
    config.*row.member = row.value;
    check_refused(config, row.message);
  }
  const std::pair<std::vector<Index>, const char*> lists[] = {
      {{4, 4}, "heads_per_layer: expected 3 numbers, got 2"},
      {{4, 0, 4}, "heads_per_layer: expected 1 to 4, got 0"},
      {{4, 4, 5}, "heads_per_layer: expected 1 to 4, got 5"}};
  for (const auto& [heads, message] : lists) {
    GptConfig config = small_config();
    config.heads_per_layer = heads;
    check_refused(config, message);
  }
  const std::tuple<double GptConfig::*, double, const char*> numbers[] = {
      {&GptConfig::attention_dropout, 1, "attention_dropout: expected 0 to below 1, got 1"},
      {&GptConfig::residual_dropout, -0.5, "residual_dropout: expected 0 to below 1, got -0.5"},
      {&GptConfig::embedding_dropout, kNaN, "embedding_dropout: expected 0 to below 1, got nan"},
      {&GptConfig::layer_norm_epsilon, 0,
       "layer_norm_epsilon: expected a number above 0 and below 1, got 0"},
      {&GptConfig::layer_norm_epsilon, kNaN,
       "layer_norm_epsilon: expected a number above 0 and below 1, got nan"}};
  for (const auto& [member, value, message] : numbers) {
    GptConfig config = small_config();
    config.*member = value;
    CHECK_THROWS_WITH(config.validate(), message);
  }
}

TEST_CASE("the four sizes of GPT-2 have their published numbers of parameters") {
  const std::array<Index, 4> rows[] = {// layers, heads, width, parameters
                                       {12, 12, 768, 124439808},
                                       {24, 16, 1024, 354823168},
                                       {36, 20, 1280, 774030080},
                                       {48, 25, 1600, 1557611200}};
  for (const auto& [layers, heads, width, parameters] : rows) {
    const GptConfig config{
        .vocab_size = 50257, .n_layer = layers, .n_head = heads, .n_embd = width};
    CHECK(count_parameters(config).total() == parameters);
  }
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
