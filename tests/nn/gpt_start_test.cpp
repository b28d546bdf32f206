#include "support/test.h"

// Initial weights, and products in place of the own ones.

namespace gpt_start_test {
GptConfig small_config() {
  GptConfig config{.vocab_size = 1500, .block_size = 16, .n_layer = 2, .n_head = 2, .n_embd = 12};
  return config;
}

TEST_CASE("the initial weights of a seed are the recorded numbers of its random streams") {
  for (const int threads : {1, 3}) {
    const ThreadScope scope(threads);
    const NamedTensors parameters = Gpt(small_config(), 1337).parameters();
    std::uint64_t number = 0;
    for (const auto& [name, tensor] : parameters) {
      INFO(name);
      const RandomStream random = RandomStream{1337, 1}.fork(number++);
      const bool residual = name.find("c_proj") != std::string::npos;
      const double deviation = residual ? 0.02 / std::sqrt(4.0) : 0.02;
      const double constant = name.find("ln_") != std::string::npos && name.ends_with("weight");
      bool same = true;
      for (Index i = 0; i < tensor.numel(); ++i) {
        const double normal = random.normal(static_cast<std::uint64_t>(i));
        const double drawn = tensor.rank() == 2 ? deviation * normal : constant;
        same = same && tensor.data<float>()[i] == static_cast<float>(drawn);
      }
      CHECK(same);
    }
  }
}

TEST_CASE("a model without a seed has the same parameters without random values") {
  const Gpt seeded(small_config(), 3);
  const std::unique_ptr<Gpt> blank = Gpt::blank(small_config(), DType::float64);
  const NamedTensors expected = seeded.parameters();
  const NamedTensors actual = blank->parameters();
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(actual[i].first == expected[i].first);
    CHECK(actual[i].second.shape() == expected[i].second.shape());
    CHECK(actual[i].second.requires_grad());
    CHECK(actual[i].second.dtype() == DType::float64);
    // Norms start at 1 and 0 without random draws.
    const bool drawn = expected[i].second.rank() == 2;
    const Tensor start = drawn ? Tensor::zeros(expected[i].second.shape()) : expected[i].second;
    check_close(actual[i].second, start, 0);
  }
}

TEST_CASE("float64 and float32 models start with the same weights, rounded") {
  const Gpt single(small_config(), 7);
  const Gpt exact(small_config(), 7, DType::float64);
  for (const auto& [name, parameter] : exact.parameters()) {
    INFO(name);
    CHECK(parameter.dtype() == DType::float64);
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
    const Batch batch = make_batch({draw_ids(16, 1500), draw_ids(5, 1500, 1)});
    const Counted counted;
    const Tensor own = gpt.logits(batch, {.products = &counted});
    CHECK(counted.count == (gated ? 10 : 8));
    CHECK(largest_difference(own, gpt.logits(batch)) < 1e-4);
  }
}
}  // namespace gpt_start_test
