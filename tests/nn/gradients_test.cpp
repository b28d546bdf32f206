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

TEST_CASE("the gradients of a GPT fit central differences while every dropout drops") {
  GptConfig config = small_config();
  config.attention_dropout = 0.2;
  config.residual_dropout = 0.3;
  config.embedding_dropout = 0.1;
  check_gpt(config, {.training = true, .random = {5, 6}});
}
}  // namespace gradients_test
