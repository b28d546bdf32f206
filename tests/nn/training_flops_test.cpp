#include "headlight/base/error.h"
#include "headlight/nn/gpt_config.h"
#include "support/catch.h"

using namespace headlight;

TEST_CASE("a training step costs 6 FLOPs a weight and token and 12 H D a visible pair", "[nn]") {
  const GptConfig config{
      .vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 16, .bias = false};
  // Weights in products: 2 layers x 12 x 16^2 + 11 x 16 = 6320. Sequences of 8, 1 and 3 tokens have
  // 36 + 1 + 6 = 43 visible pairs.
  CHECK(training_flops(config, {0, 8, 9, 12}) == 6.0 * 6320 * 12 + 12.0 * 16 * 2 * 43);
  CHECK(training_flops(config, {0}) == 0);
}

TEST_CASE("biases, norms and tying do not change the FLOPs of a step", "[nn]") {
  GptConfig config{.vocab_size = 11, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 16};
  const double flops = training_flops(config, {0, 8});
  config.bias = false;
  config.tie_weights = false;
  CHECK(training_flops(config, {0, 8}) == flops);
}

TEST_CASE("pruned heads cost nothing", "[nn]") {
  GptConfig config{.vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 16};
  config.head_width = 8;
  config.heads_per_layer = {2, 1};
  // Attention weights: 4 x 16 x (16 + 8); pairs are seen over inner widths 16 and 8.
  CHECK(training_flops(config, {0, 8}) ==
        6.0 * (4 * 16 * 24 + 2 * 8 * 256 + 176) * 8 + 12.0 * 24 * 36);
  config.n_layer = 0;
  CHECK_THROWS_AS(training_flops(config, {0, 8}), Error);
}
