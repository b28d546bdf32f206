#include "support/test.h"

namespace gradients_test {
constexpr DType kDouble = DType::float64;

Tensor draw(const Shape& shape, std::uint64_t stream) {
  return random_uniform(shape, {17, stream}, -1, 1, kDouble).set_requires_grad();
}

// Compares the gradients of `output` for the module's parameters and `extra` with central
// differences. `output` must read both in place.
void check_module(const Module& module, const std::vector<Tensor>& extra,
                  const std::function<Tensor()>& output) {
  std::vector<Tensor> inputs = extra;
  Index wanted = 0;
  std::string names;
  const ThreadScope one_thread(1);  // the passes are tiny
  for (const auto& [name, parameter] : module.parameters()) {
    names += concat_text("\n", inputs.size(), ": ", name);
    inputs.push_back(parameter);
  }
  constexpr Index kElements = 200;
  for (const Tensor& input : inputs) {
    wanted += std::min(input.numel(), kElements);
  }
  const GradientCheckResult result =
      check_gradients([&](const std::vector<Tensor>&) { return output(); }, inputs,
                      {.elements_per_input = kElements});
  INFO("largest relative error " << result.largest_error << "; " << result.worst
                                 << "; inputs after " << extra.size() << " given ones:" << names);
  CHECK(result.passed);
  CHECK(result.elements == wanted);
  for (const Tensor& input : inputs) {
    CHECK_FALSE(input.grad().defined());
  }
}

GptConfig small_config() {
  return {.vocab_size = 11, .block_size = 6, .n_layer = 2, .n_head = 2, .n_embd = 8};
}

// Checks the gradients of the mean loss of a ragged batch. One sequence has a single token, hence
// no target.
void check_gpt(const GptConfig& config, const ForwardContext& context = {}) {
  const Gpt gpt(config, 1, kDouble);
  randomize(gpt, 31);
  const Batch batch = make_batch({{1, 4, 7, 2, 9, 10}, {5}, {3, 8, 0}, {6, 6}});
  check_module(gpt, {}, [&] { return gpt.loss(batch, context); });
}

TEST_CASE("the gradients of attention with separate projections fit central differences") {
  const MultiHeadAttention attention(
      {.width = 6, .heads = 2, .key_width = 5, .value_width = 4, .dtype = kDouble});
  randomize(attention, 41);
  const Tensor query = draw({2, 3, 6}, 1);
  const Tensor key = draw({2, 4, 5}, 2);
  const Tensor value = draw({2, 4, 4}, 3);
  const AttentionMasks masks{.key_padding = padding_mask({4, 2}, 4), .causal = true};
  check_module(attention, {query, key, value},
               [&] { return attention.forward(query, key, value, masks).output; });
}

TEST_CASE("the gradients of both attentions fit central differences") {
  for (const bool bias : {true, false}) {
    const MultiHeadAttention general(
        {.width = 6, .heads = 3, .head_width = 4, .bias = bias, .dtype = kDouble});
    randomize(general, 42);
    const Tensor x = draw({2, 4, 6}, 1);
    check_module(general, {x}, [&] { return general.forward(x, x, x, {.causal = true}).output; });
    const CausalSelfAttention causal(
        {.width = 6, .plan = {.heads = 3, .head_width = 4}, .bias = bias, .dtype = kDouble});
    randomize(causal, 42);
    const Tensor flat = draw({8, 6}, 2);
    check_module(causal, {flat}, [&] { return causal.forward(flat, {0, 5, 6, 8}); });
  }
}

TEST_CASE("the gradients through the returned attention weights fit central differences") {
  const MultiHeadAttention attention({.width = 4, .heads = 2, .dtype = kDouble});
  randomize(attention, 43);
  const Tensor x = draw({1, 4, 4}, 1);
  check_module(attention, {x},
               [&] { return attention.forward(x, x, x, {.causal = true}).weights; });
}

TEST_CASE("the gradients of attention with dropout fit central differences") {
  const MultiHeadAttention attention({.width = 6, .heads = 2, .dropout = 0.3, .dtype = kDouble});
  randomize(attention, 44);
  const ForwardContext context{.training = true, .random = {1, 2}};
  const Tensor x = draw({2, 4, 6}, 1);
  check_module(attention, {x}, [&] { return attention.forward(x, x, x, {}, context).output; });
  const CausalSelfAttention causal(
      {.width = 6, .plan = {.heads = 2}, .dropout = 0.3, .dtype = kDouble});
  randomize(causal, 44);
  const Tensor flat = draw({8, 6}, 2);
  check_module(causal, {flat}, [&] { return causal.forward(flat, {0, 5, 6, 8}, context); });
}

TEST_CASE("the gradients of an MLP fit central differences for every activation") {
  for (const Activation activation : {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu,
                                      Activation::relu2, Activation::silu}) {
    for (const bool bias : {true, false}) {
      const Mlp mlp(
          {.width = 5, .inner_width = 7, .activation = activation, .bias = bias, .dtype = kDouble});
      randomize(mlp, 45);
      const Tensor x = draw({4, 5}, 1);
      check_module(mlp, {x}, [&] { return mlp.forward(x); });
    }
  }
}

TEST_CASE("the gradients of a block fit central differences, pre-norm and post-norm") {
  for (const NormPosition position : {NormPosition::pre, NormPosition::post}) {
    for (const bool bias : {true, false}) {
      GptConfig config = small_config();
      config.norm = position;
      config.bias = bias;
      const Block block(config, 0, kDouble, RandomStream{1, 1});
      randomize(block, 46);
      const Tensor x = draw({7, 8}, 1);
      check_module(block, {x}, [&] { return block.forward(x, {0, 4, 5, 7}, {}); });
    }
  }
}

TEST_CASE("the gradients of layer norm and batch norm modules fit central differences") {
  const LayerNorm layer_norm({.width = 5, .dtype = kDouble});
  randomize(layer_norm, 47);
  const Tensor x = draw({4, 5}, 1);
  check_module(layer_norm, {x}, [&] { return layer_norm.forward(x); });
  for (const bool training : {true, false}) {
    BatchNorm1d batch_norm({.width = 3, .dtype = kDouble});
    randomize(batch_norm, 48);
    const Tensor channels = draw({4, 3, 2}, 2);
    check_module(batch_norm, {channels},
                 [&] { return batch_norm.forward(channels, {.training = training}); });
  }
}

TEST_CASE("the gradients of a two-layer GPT fit central differences, tied and untied") {
  for (const bool tied : {true, false}) {
    for (const NormPosition position : {NormPosition::pre, NormPosition::post}) {
      for (const bool bias : {true, false}) {
        INFO("tied " << tied << ", pre-norm " << (position == NormPosition::pre) << ", bias "
                     << bias);
        GptConfig config = small_config();
        config.tie_weights = tied;
        config.norm = position;
        config.bias = bias;
        check_gpt(config);
      }
    }
  }
}

TEST_CASE("the gradients of a GPT fit central differences for the other activations") {
  for (const Activation activation : {Activation::gelu_erf, Activation::relu}) {
    GptConfig config = small_config();
    config.activation = activation;
    check_gpt(config);
  }
}

TEST_CASE("the gradients of a GPT with pruned heads fit central differences") {
  GptConfig config = small_config();
  config.n_head = 3;
  config.head_width = 5;
  config.heads_per_layer = {1, 3};
  check_gpt(config);
}

TEST_CASE("the gradients of a GPT fit central differences while every dropout drops") {
  GptConfig config = small_config();
  config.attention_dropout = 0.2;
  config.residual_dropout = 0.3;
  config.embedding_dropout = 0.1;
  check_gpt(config, {.training = true, .random = {5, 6}});
}
}  // namespace gradients_test
