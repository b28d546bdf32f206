#include "support/test.h"

constexpr Index kVocabulary = 60;

TrainConfig config_of_plan() {
  TrainConfig config{
      .gpt = {.block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 64, .bias = false},
      .batch_size = 16};
  return config;
}

TEST_CASE("the memory plan counts weights and gradients and moments and the copy for saving") {
  TrainConfig config = config_of_plan();
  const GptConfig model = config.model(kVocabulary);
  const double weights = 4.0 * static_cast<double>(count_parameters(model).total());
  const MemoryPlan plan = plan_memory(config, model);
  CHECK(plan.weights == weights);
  CHECK(plan.gradients == weights);
  CHECK(plan.moments == 2 * weights);
  CHECK(plan.snapshot == 3 * weights);
  CHECK(plan.total() == 7 * weights + plan.activations);
  config.optimizer = "muon";
  const ParameterCounts counts = count_parameters(model);
  CHECK(plan_memory(config, model).moments ==
        2 * weights - 4.0 * static_cast<double>(counts.attention + counts.mlp));  // without biases
  config.optimizer = "sgd";
  CHECK(plan_memory(config, model).moments == weights);
  config.momentum = 0;
  CHECK(plan_memory(config, model).snapshot == weights);
  config.ema_decay = 0.9;
  CHECK(plan_memory(config, model).moments == weights);
  CHECK(plan_memory(config, model).snapshot == 2 * weights);
}

TEST_CASE("the memory plan of one of several processes counts only its part of the moments") {
  TrainConfig config = config_of_plan();
  config.shards = 8;
  const GptConfig model = config.model(kVocabulary);
  const double weights = plan_memory(config, model).weights;
  CHECK(plan_memory(config, model).gradients == 4 * weights);  // partial sums of 1, 2 and 4 shards
  CHECK(plan_memory(config, model, 8).gradients == weights);
  CHECK(plan_memory(config, model, 2).moments == weights);
  CHECK(plan_memory(config, model, 2).snapshot == 3 * weights);
}

TEST_CASE("the estimated memory of activations is within a third of what training takes") {
  const TrainConfig config = config_of_plan();
  auto ids = counted<std::int32_t>(
      3000, [&](std::int32_t i) { return static_cast<std::int32_t>(i * i % kVocabulary); });
  const TokenDataset dataset = stream_dataset(std::move(ids));
  release_unused_storage();
  const auto held = [] {
    const StorageStatistics statistics = storage_statistics();
    return static_cast<double>(statistics.live_bytes + statistics.cached_bytes);
  };
  const double before = held();
  Gpt model(config.model(kVocabulary), 1);
  Trainer trainer(config, model, dataset);
  trainer.step();
  trainer.step();
  const MemoryPlan plan = plan_memory(config, model.config());
  const double expected = plan.total() - plan.snapshot;
  CHECK(held() - before < 1.33 * expected);
  CHECK(held() - before > 0.67 * expected);
}

TEST_CASE("a memory plan above the available memory names both sizes and the settings to change") {
  MemoryPlan plan{.weights = 1e9, .activations = 9e9, .available = 5e9};
  check_error([&] { require_memory(plan); }, {"10000 MB", "5000 MB", "batch_size"});
  plan.activations = 1e9;
  CHECK_NOTHROW(require_memory(plan));
  plan.gradients = 4e9;
  CHECK_THROWS_WITH(require_memory(plan), contains_text("n_layer"));
  plan.data = 9e9;
  CHECK(plan.total() == 15e9);
  CHECK_THROWS_WITH(require_memory(plan), contains_text("9000 MB for the data") &&
                                              contains_text("headlight tokenizer encode"));
  plan.available = 0;
  CHECK_NOTHROW(require_memory(plan));
}
