#include "support/seed_sequences.h"
#include "support/test.h"

namespace gpt_test {
constexpr DType kDouble = DType::float64;

GptConfig small_config() {
  return {.vocab_size = 100, .block_size = 20, .n_layer = 3, .n_head = 4, .n_embd = 64};
}

// Mean and standard deviation of all elements.
struct Statistics {
  double mean = 0;
  double deviation = 0;
};

Statistics statistics_of(const Tensor& x) {
  const std::vector<double> values = x.to_vector();
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return {sum / count, std::sqrt(squares / count - sum / count * (sum / count))};
}

bool ends_with(const std::string& name, const std::string& end) { return name.ends_with(end); }

TEST_CASE(
    "a new GPT predicts almost uniformly so that its loss is the log of the vocabulary size") {
  for (const NormPosition position : {NormPosition::pre, NormPosition::post}) {
    for (const bool tied : {true, false}) {
      GptConfig config = small_config();
      config.norm = position;
      config.tie_weights = tied;
      const double loss = Gpt(config).loss(make_batch(seed_sequences())).item();
      CHECK(std::abs(loss - std::log(100.0)) < 0.1);
      CHECK(loss != Approx(std::log(100.0)).epsilon(1e-6));
    }
  }
}

TEST_CASE("weights start as GPT-2's do") {
  GptConfig config = small_config();
  config.tie_weights = false;
  const Gpt gpt(config, 7);
  const double residual = 0.02 / std::sqrt(2.0 * 3);
  for (const auto& [name, parameter] : gpt.parameters()) {
    INFO(name);
    if (ends_with(name, "bias")) {
      CHECK(all_zero(parameter));
    } else if (name.find("ln_") != std::string::npos) {
      CHECK(same_bits(parameter, Tensor::ones(parameter.shape())));
    } else {
      const double wanted = ends_with(name, "c_proj.weight") ? residual : 0.02;
      const Statistics found = statistics_of(parameter);
      // Four standard errors of mean and deviation.
      const auto count = static_cast<double>(parameter.numel());
      CHECK(std::abs(found.mean) < 4 * wanted / std::sqrt(count));
      CHECK(std::abs(found.deviation - wanted) < 4 * wanted / std::sqrt(2 * count));
    }
  }
}

TEST_CASE("weights are normal, not uniform") {
  const Gpt gpt(small_config(), 7);
  std::vector<double> values = parameter_of(gpt, "wte.weight").to_vector();
  std::sort(values.begin(), values.end());
  const auto share_below = [&](double deviations) {
    const auto place = std::lower_bound(values.begin(), values.end(), deviations * 0.02);
    return static_cast<double>(place - values.begin()) / static_cast<double>(values.size());
  };
  CHECK(share_below(-2) == Approx(0.0228).margin(0.008));
  CHECK(share_below(-1) == Approx(0.1587).margin(0.02));
  CHECK(share_below(0) == Approx(0.5).margin(0.025));
  CHECK(share_below(1) == Approx(0.8413).margin(0.02));
}

TEST_CASE("the seed determines every weight and no two tensors start equal") {
  const Gpt first(small_config(), 7);
  const Gpt again(small_config(), 7);
  const Gpt other(small_config(), 8);
  std::vector<double> starts;
  for (const auto& [name, parameter] : first.parameters()) {
    INFO(name);
    CHECK(same_bits(parameter, parameter_of(again, name)));
    if (parameter.rank() >= 2) {
      CHECK_FALSE(same_bits(parameter, parameter_of(other, name)));
      starts.push_back(parameter.to_vector()[0]);
    }
  }
  std::sort(starts.begin(), starts.end());
  CHECK(std::unique(starts.begin(), starts.end()) == starts.end());
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

TEST_CASE("tied weights are one tensor that collects the gradients of both its uses") {
  Gpt tied(small_config(), 7, kDouble);
  Tensor wte = parameter_of(tied, "wte.weight");
  CHECK(tied.head_weight().data<double>() == wte.data<double>());
  CHECK(tied.head_weight().grad_node() == wte.grad_node());

  GptConfig config = small_config();
  config.tie_weights = false;
  Gpt untied(config, 7, kDouble);
  for (auto& [name, parameter] : untied.parameters()) {
    parameter.copy_from(parameter_of(tied, name == "lm_head.weight" ? "wte.weight" : name));
  }
  const Batch batch = make_batch(seed_sequences());
  backward(tied.loss(batch));
  backward(untied.loss(batch));
  const std::vector<double> both = wte.grad().to_vector();
  const std::vector<double> lookup = parameter_of(untied, "wte.weight").grad().to_vector();
  const std::vector<double> head = parameter_of(untied, "lm_head.weight").grad().to_vector();
  double furthest = 0;
  for (std::size_t i = 0; i < both.size(); ++i) {
    furthest = std::max(furthest, std::abs(both[i] - lookup[i] - head[i]));
  }
  CHECK(furthest < 1e-14);
  CHECK(norm(parameter_of(untied, "wte.weight").grad()) > 1e-3);
  CHECK(norm(parameter_of(untied, "lm_head.weight").grad()) > 1e-3);
}

TEST_CASE("an untied head is a tensor of its own, without bias") {
  GptConfig config = small_config();
  config.tie_weights = false;
  const Gpt gpt(config);
  CHECK(has_parameter(gpt, "lm_head.weight"));
  CHECK_FALSE(has_parameter(gpt, "lm_head.bias"));
  CHECK(gpt.head_weight().shape() == Shape{100, 64});
  CHECK(gpt.head_weight().data<float>() == parameter_of(gpt, "lm_head.weight").data<float>());
  CHECK_FALSE(same_bits(gpt.head_weight(), parameter_of(gpt, "wte.weight")));
}

TEST_CASE("only a pre-norm GPT has a final norm") {
  GptConfig config = small_config();
  CHECK(has_parameter(Gpt(config), "ln_f.weight"));
  config.norm = NormPosition::post;
  CHECK_FALSE(has_parameter(Gpt(config), "ln_f.weight"));
}

TEST_CASE("pruned layers have projections of their own size and learn") {
  GptConfig config = small_config();
  config.n_head = 4;
  config.head_width = 16;
  config.heads_per_layer = {4, 1, 3};
  Gpt gpt(config);
  CHECK(parameter_of(gpt, "h.0.attn.c_attn.weight").shape() == Shape{192, 64});
  CHECK(parameter_of(gpt, "h.1.attn.c_attn.weight").shape() == Shape{48, 64});
  CHECK(parameter_of(gpt, "h.1.attn.c_attn.bias").shape() == Shape{48});
  CHECK(parameter_of(gpt, "h.1.attn.c_proj.weight").shape() == Shape{64, 16});
  CHECK(parameter_of(gpt, "h.2.attn.c_proj.weight").shape() == Shape{64, 48});
  CHECK(gpt.block(1).attention().plan().heads == 1);
  CHECK(gpt.block(2).attention().plan().inner_width() == 48);
  backward(gpt.loss(make_batch(seed_sequences())));
  for (const auto& [name, parameter] : gpt.parameters()) {
    INFO(name);
    REQUIRE(parameter.grad().defined());
    CHECK(parameter.grad().shape() == parameter.shape());
    CHECK(all_finite(parameter.grad()));
    CHECK_FALSE(all_zero(parameter.grad()));
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

TEST_CASE("a blank model has the usual parameters with zeros in its matrices") {
  GptConfig config{.vocab_size = 11,
                   .block_size = 7,
                   .n_layer = 2,
                   .n_head = 2,
                   .n_embd = 8,
                   .tie_weights = false};
  const Gpt usual(config);
  const auto blank = Gpt::blank(config, DType::float64);
  const NamedTensors parameters = blank->parameters();
  const NamedTensors expected = usual.parameters();
  REQUIRE(parameters.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(parameters[i].first == expected[i].first);
    CHECK(parameters[i].second.shape() == expected[i].second.shape());
    CHECK(parameters[i].second.dtype() == DType::float64);
    if (expected[i].second.rank() == 2) {
      CHECK(parameters[i].second.to_vector() ==
            std::vector<double>(static_cast<std::size_t>(expected[i].second.numel())));
    }
  }
}
}  // namespace gpt_test
