#include <sys/resource.h>

#include "support/test.h"

// Memory that training requests from the system: the first steps allocate it, later ones reuse it.

namespace memory_test {
// Null without AddressSanitizer.
extern "C" __attribute__((weak)) void __asan_init();  // NOLINT: its name

constexpr Index kBlock = 64;     // T
constexpr Index kSequences = 8;  // B
constexpr Index kVocabulary = 65;

TrainConfig small_config() {
  TrainConfig config{
      .gpt = {.block_size = kBlock, .n_layer = 3, .n_head = 4, .n_embd = 64, .bias = false},
      .batch_size = kSequences};
  return config;
}

Ids tokens_of(Index count, std::uint64_t stream) {
  return counted<std::int32_t>(count, [&](Index i) {
    return static_cast<std::int32_t>(
        RandomStream{5, stream}.below(static_cast<std::uint64_t>(i), kVocabulary));
  });
}

// Returns a batch of B sequences with lengths drawn from 1 ... T; in step 0 all have length T.
Batch batch_of_step(std::uint64_t step) {
  std::vector<Ids> sequences;
  for (Index b = 0; b < kSequences; ++b) {
    const auto drawn = RandomStream{6, step}.below(static_cast<std::uint64_t>(b), kBlock);
    const Index length = step == 0 ? kBlock : 1 + static_cast<Index>(drawn);
    sequences.push_back(tokens_of(length + 1, step * kSequences + static_cast<std::uint64_t>(b)));
  }
  return training_batch(sequences);
}

// Trains on the batches of these steps.
struct Training {
  Gpt model{small_config().model(kVocabulary), 1};
  NamedTensors parameters = model.parameters();
  AdamW optimizer{parameters, {}};

  void run(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t step = first; step < last; ++step) {
      const Batch batch = batch_of_step(step);
      model.zero_grad();
      backward(model.loss(batch, {.training = true, .random = {1, step}}));
      optimizer.step(1e-3);
    }
  }
};

std::size_t held_bytes() {
  const StorageStatistics statistics = storage_statistics();
  return statistics.live_bytes + statistics.cached_bytes;
}

// Returns the bytes of memory that `body` allocates and keeps.
template <class Body>
std::size_t growth(const Body& body) {
  release_unused_storage();
  const std::size_t before = held_bytes();
  body();
  return held_bytes() - before;
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST_CASE("training on packed batches takes no memory from the system after its first updates") {
  const TrainConfig config = small_config();
  const TokenDataset dataset = stream_dataset(tokens_of(4 * kSequences * kBlock + 1, 1));
  Gpt model(config.model(kVocabulary), 1);
  Trainer trainer(config, model, dataset);
  for (int step = 0; step < 16; ++step) {  // blocks of a step fragment memory
    trainer.step();
  }
  const std::size_t before = storage_statistics().system_allocations;
  for (int step = 0; step < 40; ++step) {
    trainer.step();
  }
  CHECK(storage_statistics().system_allocations == before);
}

TEST_CASE("training on padded batches takes no memory after the largest batch has been seen") {
  release_unused_storage();
  Training training;
  training.run(0, 1);
  training.run(0, 1);
  const std::size_t before = storage_statistics().system_allocations;
  training.run(1, 60);
  CHECK(storage_statistics().system_allocations == before);
}

TEST_CASE("padded batches in any order need little more memory than the largest batch alone") {
  const std::size_t largest = growth([] {
    Training training;
    for (int step = 0; step < 3; ++step) {
      training.run(0, 1);
    }
  });
  const std::size_t mixed = growth([] {
    Training training;
    training.run(1, 30);
    training.run(0, 1);
    training.run(30, 60);
  });
  CHECK(mixed < largest + 3 * largest / 10);
}

TEST_CASE("later training updates touch almost no new memory pages") {
  Training training;
  training.run(0, 1);
  training.run(0, 4);
  const long before = page_faults();
  training.run(4, 24);
  const long bound = __asan_init == nullptr ? 20 * 20 : 1'000'000;  // which never reuses memory
  CHECK(page_faults() - before < bound);
}
}  // namespace memory_test
