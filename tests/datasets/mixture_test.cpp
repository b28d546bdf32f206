#include "datasets/batches/mixture.h"
#include "support/test.h"

namespace mixture_test {
constexpr std::int32_t kEnd = 99;

// Documents of one to three tokens `first`, first + 1, ...
TokenDataset documents(std::int32_t first, int count) {
  auto all = counted<Ids>(
      count, [&](int d) { return Ids(static_cast<std::size_t>(1 + d % 3), first + d); });
  return document_dataset(std::move(all), kEnd);
}

TokenDataset stream(std::int32_t first, int count) {
  auto ids = counted<std::int32_t>(count, [&](int i) { return first + i % 10; });
  return stream_dataset(std::move(ids));
}

TokenDataset mixed(TokenDataset one, TokenDataset other, Index weight) {
  std::vector<TokenDataset> parts;
  parts.push_back(std::move(one));
  parts.push_back(std::move(other));
  return mix_datasets(std::move(parts), {weight, 1}, kEnd);
}

TEST_CASE("every round draws each source as often as its weight") {
  const std::vector<Index> weights{3, 1, 6};
  const Mixture mixture(weights, {1, 2});
  std::array<Index, 3> seen{};
  std::array<Index, 10> first{};  // draws of source 0 at each place of a round
  for (Index number = 0; number < 20000; ++number) {
    const Mixture::Draw draw = mixture.at(number);
    REQUIRE(draw.number / weights[draw.source] == number / 10);  // the round, from either number
    ++seen[draw.source];
    first[static_cast<std::size_t>(number % 10)] += draw.source == 0 ? 1 : 0;
    if (number % 10 == 9) {
      for (std::size_t s = 0; s < 3; ++s) {
        REQUIRE(seen[s] == (number / 10 + 1) * weights[s]);
      }
    }
  }
  for (const Index times : first) {
    CHECK(times > 500);  // of 2000, 600 expected
    CHECK(times < 700);
  }
}

TEST_CASE("the draws of a mixture equal the recorded ones") {
  const Mixture mixture({2, 1}, {7, 8});
  std::vector<std::size_t> sources;
  std::vector<Index> numbers;
  for (Index number = 0; number < 9; ++number) {
    sources.push_back(mixture.at(number).source);
    numbers.push_back(mixture.at(number).number);
  }
  CHECK(sources == std::vector<std::size_t>{0, 1, 0, 0, 0, 1, 1, 0, 0});
  CHECK(numbers == std::vector<Index>{1, 0, 0, 3, 2, 1, 2, 4, 5});
}

TEST_CASE("packed sequences come from streams by weight and each from a single stream") {
  const TokenDataset data = mixed(stream(10, 500), stream(50, 60), 2);
  CHECK(data.token_count == 561);
  Batcher batcher(data, {.batching = Batching::packed, .batch_size = 6, .block_size = 20});
  std::array<int, 2> seen{};
  for (Index index = 0; index < 100; ++index) {
    for (const Ids& ids : batcher.sequences(index)) {
      const bool second = ids.front() >= 50;
      ++seen[second ? 1 : 0];
      for (const std::int32_t id : ids) {
        REQUIRE((id >= 50) == second);
        REQUIRE(id != kEnd);
      }
    }
  }
  CHECK(seen[0] == 400);
  CHECK(seen[1] == 200);
}

TEST_CASE("documents are drawn by weight and each source has its own epochs") {
  const TokenDataset data = mixed(documents(0, 40), documents(50, 20), 3);
  for (const Batching batching : {Batching::padded, Batching::bucketed}) {
    const BatcherOptions options{
        .batching = batching, .batch_size = 4, .block_size = 16, .bucket_window = 10};
    Batcher batcher(data, options);
    CHECK(batcher.batches_per_epoch() == 15);
    std::array<int, 100> seen{};
    for (Index index = 0; index < 80; ++index) {  // 320 sequences: 240 and 80
      const auto sequences = batcher.sequences(index);
      REQUIRE(sequences.size() == 4);
      for (const Ids& ids : sequences) {
        ++seen[static_cast<std::size_t>(ids[1])];
      }
    }
    for (std::size_t d = 0; d < 40; ++d) {
      CHECK(seen[d] == 6);
      CHECK(seen[50 + d % 20] == 4);
    }
    Batcher jumping(data, options);
    for (const Index index : {79, 3, 40, 3}) {
      CHECK(jumping.sequences(index) == batcher.sequences(index));
    }
  }
}

TEST_CASE("a source with too few tokens to train on is refused") {
  const TokenDataset streams = mixed(stream(10, 50), stream(50, 1), 2);
  CHECK_THROWS_WITH(Batcher(streams, {.batching = Batching::packed}),
                    "[Batcher] a share has 1 tokens, expected at least 2");
}
}  // namespace mixture_test
