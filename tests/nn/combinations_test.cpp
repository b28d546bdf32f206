#include "support/models/drawn_config.h"
#include "support/test.h"

// Random combinations of all configuration keys, to find keys that break each other.

namespace nn_combinations_test {
constexpr int kDraws = 200;

double largest_difference(std::span<const float> logits, const Tensor& expected, Index row) {
  const std::vector<double> values = slice(expected, 0, row, row + 1).to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(values[i] - static_cast<double>(logits[i])));
  }
  return largest;
}

TEST_CASE("gradients agree with finite differences under every configuration", "[long]") {
  for (int number = 0; number < kDraws; ++number) {
    const GptConfig config = drawn_config(number);
    INFO("drawn_config(" << number << ")");
    const Gpt gpt(config, 1, DType::float64);
    spread_weights(gpt);
    const Ids tokens = drawn_tokens(number, config);
    const Batch batch = make_batch({{tokens.begin(), tokens.begin() + 7}, {tokens[7], tokens[8]}});
    std::vector<Tensor> inputs;
    for (const auto& [name, parameter] : gpt.parameters()) {
      inputs.push_back(parameter);
    }
    // Larger steps cross the kinks of relu.
    const GradientCheckResult check =
        check_gradients([&](const auto&) { return gpt.loss(batch); }, inputs,
                        {.epsilon = 1e-7,
                         .relative_tolerance = 1e-4,
                         .absolute_tolerance = 1e-6,
                         .elements_per_input = 3});
    INFO(check.worst);
    CHECK(check.passed);
  }
}

TEST_CASE("generation with a cache equals a full pass under every configuration") {
  for (int number = 0; number < kDraws; ++number) {
    const GptConfig config = drawn_config(number);
    INFO("drawn_config(" << number << ")");
    // Every other model has int8 weights, whose products round the vectors to 16 bits.
    const WeightFormat format = number % 2 == 0 ? WeightFormat::float32 : WeightFormat::int8;
    const double limit = number % 2 == 0 ? 2e-4 : 5e-3;
    Gpt gpt(config, 1);
    spread_weights(gpt);
    round_weights(gpt, format);
    const Ids tokens = drawn_tokens(number, config);
    const Tensor expected = gpt.logits(make_batch({tokens}));  // [T, V]
    Decoder decoder(gpt, format);
    KeyValueCache cache = decoder.make_cache();
    decoder.read({tokens.begin(), tokens.begin() + 4}, cache);
    CHECK(largest_difference(decoder.logits(0), expected, 3) < limit);
    decoder.read({tokens.begin() + 4, tokens.begin() + 7}, cache);
    CHECK(largest_difference(decoder.logits(0), expected, 6) < limit);
    for (std::size_t t = 7; t < tokens.size(); ++t) {
      const DecodeItem item{tokens[t], &cache};
      decoder.step({&item, 1});
      CHECK(largest_difference(decoder.logits(0), expected, static_cast<Index>(t)) < limit);
    }
  }
}

TEST_CASE("results have the same bits at any number of threads under every configuration",
          "[long]") {
  for (int number = 0; number < kDraws; ++number) {
    const GptConfig config = drawn_config(number);
    INFO("drawn_config(" << number << ")");
    const Ids tokens = drawn_tokens(number, config);
    const auto bits = [&](int threads) {
      const ThreadScope scope(threads);
      const Gpt gpt(config, 1);
      spread_weights(gpt);
      const Tensor loss = gpt.loss(make_batch({tokens, {tokens[0], tokens[1]}}));
      backward(loss);
      std::vector<Tensor> all{loss};
      for (const auto& [name, parameter] : gpt.parameters()) {
        all.push_back(parameter.grad());
      }
      Decoder decoder(gpt);
      KeyValueCache cache = decoder.make_cache();
      decoder.read(tokens, cache);
      all.push_back(Tensor::from(decoder.logits(0), {config.vocab_size}));
      return all;
    };
    const std::vector<Tensor> expected = bits(1);
    for (const int threads : {2, 5}) {
      const std::vector<Tensor> found = bits(threads);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(same_bits(found[i], expected[i]));
      }
    }
  }
}
}  // namespace nn_combinations_test
