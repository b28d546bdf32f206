#include "support/seed_sequences.h"
#include "support/test.h"

namespace gpt_test {
constexpr DType kDouble = DType::float64;

GptConfig small_config() {
  return {.vocab_size = 100, .block_size = 20, .n_layer = 3, .n_head = 4, .n_embd = 64};
}

TEST_CASE("float64 and float32 models start with the same weights, rounded") {
  const Gpt single(small_config(), 7);
  const Gpt exact(small_config(), 7, kDouble);
  for (const auto& [name, parameter] : exact.parameters()) {
    INFO(name);
    CHECK(parameter.dtype() == kDouble);
    CHECK(same_bits(convert(parameter, DType::float32), parameter_of(single, name)));
  }
}

TEST_CASE("custom weight products are used for every matrix of every layer") {
  struct Counted : WeightProducts {
    Tensor multiply(const Linear& linear, const Tensor& x) const override {
      ++count;
      return linear.forward(x);
    }
    mutable int count = 0;
  };
  for (const bool gated : {false, true}) {
    GptConfig config = small_config();
    config.gated_mlp = gated;
    config.norm = gated ? NormPosition::pre : NormPosition::post;
    const Gpt gpt(config, 1);
    randomize(gpt, 51);
    const Batch batch = make_batch(seed_sequences());
    const Counted counted;
    const Tensor own = gpt.logits(batch, {.products = &counted});
    CHECK(counted.count == (gated ? 15 : 12));
    CHECK(largest_difference(own, gpt.logits(batch)) < 1e-4);
  }
}

TEST_CASE("a GPT refuses sequences longer than its block") {
  const Gpt gpt(small_config());
  CHECK_NOTHROW(gpt.logits(make_batch({draw_ids(20, 100)})));
  CHECK_THROWS_WITH(gpt.logits(make_batch({{1, 2}, draw_ids(21, 100)})),
                    "[Gpt] sequence 1 has 21 tokens, more than the context length of 20");
  CHECK_THROWS_AS(gpt.loss(make_batch({draw_ids(21, 100)})), Error);
}

TEST_CASE("a GPT refuses ids outside its vocabulary") {
  const Gpt gpt(small_config());
  CHECK_NOTHROW(gpt.loss(make_batch({{0, 99}})));
  CHECK_THROWS_WITH(gpt.loss(make_batch({{1, 100, 2}})),
                    "[embedding] expected ids from 0 to 99, got 100 at position 1");
  CHECK_THROWS_WITH(gpt.loss(make_batch({{1, 2}, {-1, 2}})),
                    "[embedding] expected ids from 0 to 99, got -1 at position 2");
}

TEST_CASE("a GPT refuses a batch without tokens, and a loss without targets") {
  const Gpt gpt(small_config());
  CHECK_THROWS_AS(gpt.logits(Batch{}), Error);
  Batch batch = make_batch({{1, 2, 3}});
  batch.targets = Tensor();
  CHECK_NOTHROW(gpt.logits(batch));
  CHECK_THROWS_WITH(gpt.loss(batch), "[Gpt] the batch has no targets");
  batch.targets = Tensor::from({std::int32_t{2}, std::int32_t{100}, std::int32_t{3}}, {3});
  CHECK_THROWS_WITH(gpt.loss(batch),
                    "[cross_entropy] expected targets from 0 to 99 or -1, got 100 at position 1");
}
}  // namespace gpt_test
