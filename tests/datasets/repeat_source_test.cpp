#include "support/test.h"

constexpr Index kBlock = 12;

// A stream of the even numbers 0 ... 98, in order.
TokenDataset even_numbers() {
  const auto ids = counted<std::int32_t>(50, [&](std::int32_t i) { return 2 * i; });
  return stream_dataset(ids);
}

BatcherOptions options_of(double share) {
  return {.batch_size = 4, .block_size = kBlock, .seed = 9, .repeat_share = share};
}

// The shortest piece that the sequence repeats from its beginning to its end.
std::size_t period_of(const Ids& ids) {
  std::size_t period = 1;
  while (period < ids.size() &&
         !std::equal(ids.begin() + static_cast<std::ptrdiff_t>(period), ids.end(), ids.begin())) {
    ++period;
  }
  return period;
}

bool is_text(const Ids& ids) {
  return std::adjacent_find(ids.begin(), ids.end(),
                            [](std::int32_t a, std::int32_t b) { return b != a + 2; }) == ids.end();
}

TEST_CASE("repeating sequences repeat a piece of random length to their end") {
  const TokenDataset dataset = even_numbers();
  Batcher batcher(dataset, options_of(1));
  std::set<std::size_t> periods;
  std::set<std::int32_t> seen;
  for (Index index = 0; index < 60; ++index) {
    for (const Ids& ids : batcher.sequences(index)) {
      REQUIRE(ids.size() == kBlock + 1);
      const std::size_t period = period_of(ids);
      CHECK(period <= kBlock / 2);
      periods.insert(period);
      seen.insert(ids.begin(), ids.end());
    }
  }
  CHECK(std::set<std::size_t>{2, 3, 4, 5, 6} ==
        std::set<std::size_t>(periods.lower_bound(2), periods.end()));
  // All ids of the stream and no other.
  CHECK(seen.size() == 50);
  CHECK(std::all_of(seen.begin(), seen.end(), [](std::int32_t id) { return id % 2 == 0; }));
}

TEST_CASE("exactly the given share of sequences repeats and the others come from the stream") {
  const TokenDataset dataset = even_numbers();
  Batcher plain(dataset, options_of(0));
  Batcher batcher(dataset, options_of(0.375));
  Index repeats = 0;
  for (Index index = 0; index < 20; ++index) {
    const std::vector<Ids> others = plain.sequences(index);
    const std::vector<Ids> sequences = batcher.sequences(index);
    REQUIRE(sequences.size() == 4);
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      CHECK(is_text(others[b]));
      repeats += is_text(sequences[b]) ? 0 : 1;
      CHECK((sequences[b] == others[b]) == is_text(sequences[b]));
    }
  }
  CHECK(repeats == 30);  // of 80
}

TEST_CASE("a batch of repeated tokens depends on the seed and its number alone") {
  const TokenDataset dataset = even_numbers();
  Batcher batcher(dataset, options_of(1));
  Batcher again(dataset, options_of(1));
  BatcherOptions other = options_of(1);
  other.seed = 10;
  const std::vector<Ids> third = batcher.sequences(3);
  CHECK(again.sequences(3) == third);
  CHECK(batcher.sequences(4) != third);
  CHECK(Batcher(dataset, other).sequences(3) != third);
}

TEST_CASE("an invalid repeat_share and blocks or batching that it cannot use are refused") {
  const TokenDataset dataset = even_numbers();
  check_error([&] { Batcher(dataset, options_of(1.5)); }, {"[Batcher] repeat_share", "1.5"});
  BatcherOptions options = options_of(0.5);
  options.block_size = 3;
  check_error([&] { Batcher(dataset, options); }, {"[Batcher] repeat_share", "got 3"});
  options.batching = Batching::padded;
  CHECK_THROWS_WITH(Batcher(dataset, options), "[Batcher] repeat_share needs packed batching");
}
