#include "datasets/fingerprint.h"
#include "headlight/interpret/record_attention.h"
#include "support/test.h"

// Training, generation and recording give the same bits for any number of threads.

namespace same_bits_test {
constexpr Index kUpdates = 30;

TrainConfig config_of(const std::string& batching) {
  TrainConfig config{.documents = batching == "packed" ? "none" : "line",
                     .batching = batching,
                     .batch_size = 4,
                     .block_size = 48,
                     .gradient_accumulation_steps = 2,
                     .n_layer = 2,
                     .n_head = 3,
                     .n_embd = 96,
                     .dropout = 0.1,
                     .bias = true,
                     .learning_rate = 3e-3,
                     .warmup_iters = 5,
                     .lr_decay_iters = kUpdates};
  return config;
}

// Returns one stream, or documents of all lengths from 2 tokens to more than a block.
TokenDataset dataset_of(const TrainConfig& config) {
  std::vector<Ids> documents;
  const RandomStream random{8, 8};
  std::uint64_t number = 0;
  for (Index length = 2; length <= 55; ++length) {
    auto& ids = documents.emplace_back();
    for (Index i = 0; i < length; ++i) {
      ids.push_back(static_cast<std::int32_t>(random.below(number++, 256)));
    }
  }
  if (config.batching != "packed") {
    return document_dataset(documents, ByteTokenizer().end_of_text());
  }
  Ids stream;
  for (const auto& ids : documents) {
    stream.insert(stream.end(), ids.begin(), ids.end());
  }
  return stream_dataset(stream);
}

Gpt model_of(const TrainConfig& config) { return Gpt(config.model(257), 3); }

// Trains `updates` steps. Returns weights, optimizer state, losses and gradient norms.
NamedTensors trained(const TrainConfig& config, Gpt& model, Index updates = kUpdates) {
  const TokenDataset dataset = dataset_of(config);
  Trainer trainer(config, model, dataset);
  std::vector<double> numbers;
  for (Index i = 0; i < updates; ++i) {
    const StepMetrics metrics = trainer.step();
    numbers.push_back(metrics.loss);
    numbers.push_back(metrics.gradient_norm);
  }
  NamedTensors result = model.parameters();
  const NamedTensors state = trainer.optimizer().state();
  result.insert(result.end(), state.begin(), state.end());
  result.emplace_back("numbers", Tensor::from(numbers, {2 * updates}));
  return result;
}

// Calls body() with 1, 2, 3, 4 and 8 threads; all must give the same fingerprint.
template <class Body>
void check_same_bits(const Body& body) {
  std::string expected;
  for (const int threads : {1, 2, 3, 4, 8}) {
    INFO(threads << " threads");
    const ThreadScope scope(threads);
    const std::string actual = fingerprint(body());
    expected = threads == 1 ? actual : expected;
    CHECK(actual == expected);
  }
}

// A trained model, shared by the tests below, whose outputs are not uniform.
const Gpt& trained_model() {
  static const auto model = [] {
    const TrainConfig config = config_of("packed");
    auto made = std::make_unique<Gpt>(config.model(257), 3);
    trained(config, *made);
    return made;
  }();
  return *model;
}

NamedTensors tokens_of(const std::vector<GenerateResult>& results) {
  NamedTensors tokens;
  for (const GenerateResult& result : results) {
    tokens.emplace_back("tokens",
                        Tensor::from(result.tokens, {static_cast<Index>(result.tokens.size())}));
  }
  return tokens;
}

TEST_CASE("thirty updates leave the same bits for any number of threads", "[parity][bits]") {
  for (const auto& [batching, optimizer] :
       {std::pair{"packed", "adamw"}, {"padded", "adamw"}, {"packed", "muon"}}) {
    INFO(batching << ", " << optimizer);
    TrainConfig config = config_of(batching);
    config.optimizer = optimizer;
    check_same_bits([&] {
      Gpt model = model_of(config);
      return trained(config, model);
    });
  }
}

TEST_CASE("the fingerprint of a run changes with one update and with one seed", "[parity]") {
  std::set<std::string> different;
  TrainConfig config = config_of("packed");
  for (const Index seed : {1, 2}) {
    for (const Index updates : {1, 2}) {
      config.seed = seed;
      Gpt model = model_of(config);
      different.insert(fingerprint(trained(config, model, updates)));
    }
  }
  CHECK(different.size() == 4);
}

TEST_CASE("texts have the same tokens for any number of threads and every format", "[parity]") {
  for (const WeightFormat format :
       {WeightFormat::float32, WeightFormat::bfloat16, WeightFormat::int8}) {
    INFO(name_of(format));
    for (const double temperature : {0.0, 1.0}) {
      check_same_bits([&] {
        Decoder decoder(trained_model(), format);
        GenerateOptions options{.max_new_tokens = 24, .ignore_end_of_text = true};
        options.sampling.temperature = temperature;
        return tokens_of(generate_samples(decoder, ByteTokenizer(), "Bits", options, 2));
      });
    }
  }
}

TEST_CASE("recorded heads have the same bits for any number of threads", "[parity]") {
  const std::vector<std::string> documents{"a", "of different lengths",
                                           "and none of them a multiple of a power of two"};
  check_same_bits([&] {
    NamedTensors weights;
    const RecordedAttention recorded =
        record_attention_batch(trained_model(), ByteTokenizer(), documents);
    for (const RecordedLayer& layer : recorded.layers) {
      weights.emplace_back(std::to_string(layer.layer), layer.weights);
    }
    return weights;
  });
}
}  // namespace same_bits_test
