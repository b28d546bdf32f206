#include "headlight/interpret/features/top_examples.h"
#include "headlight/interpret/activations/activation_cache.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

namespace top_examples_test {
const std::vector<Ids> kTexts{{1, 2, 3, 4, 5, 6, 7}, {7, 8}, {9}, {3, 3, 3, 3}, {5, 1, 9, 2}};

TokenDataset data_of(const std::vector<Ids>& texts, std::int32_t begin = -1) {
  return {.sequences = {texts.begin(), texts.end()}, .documents = true, .window_begin = begin};
}

// Values of neuron 3 of layer 1 on each text, from passes of one text.
std::vector<std::vector<double>> neuron_values(const Gpt& gpt) {
  std::vector<std::vector<double>> values;
  for (const Ids& text : kTexts) {
    const NamedTensors arrays = cache_activations(gpt, ActivationContexts({text}, gpt.block_size()),
                                                  {.points = {{Point::mlp_post, {1, 1}}}});
    values.push_back(select(arrays.front().second, 1, 3).to_vector());
  }
  return values;
}

TEST_CASE("the examples of a neuron are the texts with its largest activations") {
  const auto gpt = random_gpt(three_layers());
  TopExampleOptions options{.point = parse_point("point", "neuron.1.3"), .count = 3};
  options.before = options.after = 1;
  options.batch_size = 2;
  const std::vector<TopExample> found = top_examples(*gpt, data_of(kTexts), options);
  const auto values = neuron_values(*gpt);
  const auto best = mapped<double>(values, [](auto& text) { return std::ranges::max(text); });
  std::vector<double> sorted = best;
  std::ranges::sort(sorted, std::ranges::greater());
  REQUIRE(found.size() == 3);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto text = static_cast<std::size_t>(found[i].sequence);
    const auto position = static_cast<std::size_t>(found[i].position);
    CHECK(found[i].value() == Approx(sorted[i]).margin(1e-6));
    CHECK(values[text][position] == Approx(best[text]).margin(1e-6));
    CHECK(found[i].ids[position - static_cast<std::size_t>(found[i].begin)] ==
          kTexts[text][position]);
    CHECK(found[i].ids.size() <= 3);
    CHECK(found[i].ids.size() == found[i].values.size());
  }
}

TEST_CASE("examples begin and end with whole characters of a tokenizer") {
  GptConfig config = three_layers();
  config.vocab_size = 256;
  const auto gpt = random_gpt(config);
  const ByteTokenizer bytes;
  TopExampleOptions options{.point = parse_point("point", "neuron.1.3")};
  options.before = options.after = 0;
  options.tokenizer = &bytes;
  const std::vector<Ids> texts{bytes.encode("말말"), bytes.encode("했다"), bytes.encode("aé")};
  for (const TopExample& example : top_examples(*gpt, data_of(texts), options)) {
    CHECK(example.ids.size() == example.values.size());
    CHECK_FALSE(contains(bytes.decode(example.ids), "\uFFFD"));
  }
}

TEST_CASE("the examples of a feature are measured by the autoencoder") {
  const auto gpt = random_gpt(three_layers(), DType::float32);
  // One feature that is 1 + channel 2 of the stream.
  Tensor encoder = Tensor::zeros({12, 1});
  encoder.strided_view({1}, {1}, 2).fill(1);
  const SparseAutoencoder sae({.hook_name = "blocks.0.hook_resid_post"},
                              {.encoder = encoder,
                               .encoder_bias = Tensor::ones({1}),
                               .decoder = Tensor::ones({1, 12}),
                               .decoder_bias = Tensor::zeros({12})});
  TopExampleOptions feature{.point = parse_point("point", "resid_post.0"), .sae = &sae};
  TopExampleOptions channel{.point = parse_point("point", "resid_post.0.2")};
  feature.count = channel.count = 1;
  const TopExample of_feature = top_examples(*gpt, data_of(kTexts), feature).front();
  const TopExample of_channel = top_examples(*gpt, data_of(kTexts), channel).front();
  CHECK(of_feature.sequence == of_channel.sequence);
  CHECK(of_feature.position == of_channel.position);
  CHECK(of_feature.value() == Approx(of_channel.value() + 1).margin(1e-5));
}

TEST_CASE("long sequences are read in windows of the context length") {
  const auto gpt = random_gpt(three_layers());  // context of 8 tokens
  TopExampleOptions options{.point = parse_point("point", "neuron.1.3")};
  options.before = options.after = 100;
  const auto whole = top_examples(*gpt, data_of({{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2}}), options);
  const auto parts = top_examples(*gpt, data_of({{1, 2, 3, 4, 5, 6, 7, 8}, {9, 1, 2}}), options);
  REQUIRE(whole.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(whole[i].sequence == 0);
    CHECK(whole[i].value() == parts[i].value());
    CHECK(whole[i].begin == 8 * parts[i].sequence);
    CHECK(whole[i].position == 8 * parts[i].sequence + parts[i].position);
  }
}

TEST_CASE("windows of long sequences begin with a token on request") {
  const auto gpt = random_gpt(three_layers());  // context of 8 tokens
  TopExampleOptions options{.point = parse_point("point", "neuron.1.3")};
  options.before = options.after = 100;
  const auto parts = top_examples(*gpt, data_of({{0, 1, 2, 3, 4, 5, 6, 7}, {0, 8, 9, 1}}), options);
  const std::vector<TopExample> whole =
      top_examples(*gpt, data_of({{5, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1}}, 0), options);
  REQUIRE(whole.size() == 3);  // one window of the first sequence, which is short
  std::size_t next = 0;
  for (const TopExample& example : whole) {
    if (example.sequence == 1) {
      const TopExample& part = parts[next++];
      CHECK(example.ids == part.ids);
      CHECK(example.value() == part.value());
      CHECK(example.begin == (part.sequence == 0 ? 0 : 7));  // behind token 7: the added one
      CHECK(example.position == example.begin + part.position);
    }
  }
  CHECK(next == 2);
}

TEST_CASE("top examples need one column of one layer") {
  const auto gpt = random_gpt(three_layers());
  const auto refused = [&](const char* point) {
    return error_of([&] { top_examples(*gpt, data_of(kTexts), {parse_point("point", point)}); });
  };
  CHECK(mentions(refused("mlp_post"), {"point: expected a point of one layer"}));
  CHECK(mentions(refused("mlp_post.1"), {"point: expected one neuron"}));
  CHECK(mentions(refused("z.1.0"), {"point: expected one neuron"}));
  CHECK(mentions(refused("pattern.1.0"), {"point: expected a point of one layer"}));
  CHECK(mentions(refused("neuron.1.99"), {"expected elements 0 to 47, got 99"}));
}
}  // namespace top_examples_test
