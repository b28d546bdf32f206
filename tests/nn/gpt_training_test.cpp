#include "support/seed_sequences.h"
#include "support/test.h"

namespace gpt_training_test {

GptConfig small_config() {
  return {.vocab_size = 100, .block_size = 20, .n_layer = 2, .n_head = 4, .n_embd = 32};
}

GptConfig dropping_config() {
  GptConfig config = small_config();
  config.attention_dropout = 0.2;
  config.residual_dropout = 0.2;
  config.embedding_dropout = 0.2;
  return config;
}

struct LossAndGradients {
  Tensor loss;
  std::vector<Tensor> gradients;
};

LossAndGradients learn(Gpt& gpt, const Batch& batch, const ForwardContext& context = {}) {
  gpt.zero_grad();
  const Tensor loss = gpt.loss(batch, context);
  backward(loss);
  return {loss.detach().clone(), gradients_of(gpt)};
}

bool same_result(const LossAndGradients& a, const LossAndGradients& b) {
  return same_bits(a.loss, b.loss) && same_bits(a.gradients, b.gradients);
}

TEST_CASE("each kind of dropout depends on the random stream alone and is off in evaluation") {
  const Batch batch = make_batch(seed_sequences());
  const ForwardContext training{.training = true, .random = {1, 1}};
  Gpt plain(small_config(), 3);
  const LossAndGradients expected = learn(plain, batch);
  CHECK(same_result(learn(plain, batch, training), expected));
  for (double GptConfig::*kind : {&GptConfig::attention_dropout, &GptConfig::residual_dropout,
                                  &GptConfig::embedding_dropout}) {
    GptConfig config = small_config();
    config.*kind = 0.3;
    Gpt gpt(config, 3);
    CHECK(same_result(learn(gpt, batch, {.random = {1, 1}}), expected));
    const LossAndGradients first = learn(gpt, batch, training);
    CHECK(same_result(learn(gpt, batch, training), first));
    CHECK_FALSE(same_bits(first.loss, expected.loss));
    const ForwardContext next_step{.training = true, .random = {1, 2}};
    CHECK_FALSE(same_bits(learn(gpt, batch, next_step).loss, first.loss));
  }
}

TEST_CASE("layers that are computed again give the same bits, also when the batch is gone") {
  Gpt gpt(dropping_config(), 3);
  ForwardContext context{.training = true, .random = {1, 1}};
  const LossAndGradients expected = learn(gpt, make_batch(seed_sequences()), context);
  gpt.zero_grad();
  context.recompute = true;
  const Tensor loss = gpt.loss(make_batch(seed_sequences()), context);
  backward(loss);
  CHECK(same_result({loss.detach().clone(), gradients_of(gpt)}, expected));
}

TEST_CASE("every dropout of a model draws different random numbers") {
  // Two blocks with the same weights differ only in their dropout draws.
  GptConfig config = small_config();
  config.residual_dropout = 0.5;
  const Block first(config, 0, kDouble, RandomStream{9, 9});
  const Block second(config, 1, kDouble, RandomStream{9, 9});
  const Tensor x = random_uniform({10, 32}, {9, 8}, -1, 1, kDouble);
  const ForwardContext context{.training = true, .random = {1, 1}};
  CHECK(same_bits(first.forward(x, {0, 10}, {}), second.forward(x, {0, 10}, {})));
  CHECK_FALSE(same_bits(first.forward(x, {0, 10}, context), second.forward(x, {0, 10}, context)));

  // A block whose branches add constants: 1 from attention, 2 from the MLP.
  for (auto& [name, parameter] : first.parameters()) {
    parameter.fill(name == "attn.c_proj.bias" ? 1 : name == "mlp.c_proj.bias" ? 2 : 0);
  }
  const Tensor zeros = Tensor::zeros({100, 32}, kDouble);
  std::vector<Index> found(4);  // nothing, attention only, MLP only, both
  for (const double value : first.forward(zeros, {0, 100}, context).to_vector()) {
    REQUIRE((value == 0 || value == 2 || value == 4 || value == 6));
    ++found[static_cast<std::size_t>(value / 2)];
  }
  for (const Index count : found) {
    CHECK(std::abs(static_cast<double>(count) / 3200 - 0.25) < 0.04);
  }
}

TEST_CASE("no graph is left after backward, after evaluation and after an error") {
  Gpt gpt(dropping_config(), 3);
  const Batch batch = make_batch(seed_sequences());
  REQUIRE(live_graph_nodes() == 0);
  learn(gpt, batch, {.training = true, .random = {1, 1}});
  CHECK(live_graph_nodes() == 0);
  {
    const Tensor loss = gpt.loss(batch);
    CHECK(live_graph_nodes() > 10);
    backward(loss);
    CHECK(live_graph_nodes() == 1);  // only the loss, without its inputs
  }
  CHECK(live_graph_nodes() == 0);
  {
    const Tensor unused = gpt.loss(batch);
    CHECK(live_graph_nodes() > 10);
  }
  CHECK(live_graph_nodes() == 0);
  CHECK_THROWS_AS(backward(gpt.logits(batch)), Error);
  CHECK(live_graph_nodes() == 0);
  const NoGrad no_grad;
  const Tensor loss = gpt.loss(batch);
  CHECK_FALSE(loss.requires_grad());
  CHECK(live_graph_nodes() == 0);
}
}  // namespace gpt_training_test
