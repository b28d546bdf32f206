#include "support/test.h"

BatcherOptions options_of(Index batch_size, Index block_size) {
  BatcherOptions options{.batch_size = batch_size, .block_size = block_size};
  return options;
}

struct Walk {
  Ids tokens;
  Ids targets;
  Index target_count = 0;
};

// All batches laid end to end.
Walk walk(const TokenDataset& dataset, const BatcherOptions& options) {
  const SequentialBatches batches(dataset, options);
  Walk result;
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    CHECK(batch.sequence_count() <= options.batch_size);
    const auto* tokens = batch.tokens.data<std::int32_t>();
    const auto* targets = batch.targets.data<std::int32_t>();
    result.tokens.insert(result.tokens.end(), tokens, tokens + batch.token_count());
    result.targets.insert(result.targets.end(), targets, targets + batch.token_count());
    result.target_count += batch.target_count;
  }
  return result;
}

TEST_CASE("a stream is walked in consecutive blocks, every target once") {
  auto ids = counted<std::int32_t>(23, [&](std::int32_t i) { return i * 3; });
  const TokenDataset dataset = stream_dataset(ids);
  for (const Index block_size : {1, 4, 5, 11, 22, 100}) {
    const Walk all = walk(dataset, options_of(2, block_size));
    CHECK(all.tokens == Ids(ids.begin(), ids.end() - 1));
    CHECK(all.targets == Ids(ids.begin() + 1, ids.end()));
    CHECK(all.target_count == 22);
  }
}

TEST_CASE("some batches are spread evenly over the data") {
  const TokenDataset dataset = stream_dataset({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const SequentialBatches all(dataset, options_of(1, 2));
  REQUIRE(all.count() == 5);
  const SequentialBatches some = all.at_most(2);
  REQUIRE(some.count() == 2);
  CHECK(some.batch(0).tokens.to_vector() == std::vector<double>{0, 1});
  CHECK(some.batch(1).tokens.to_vector() == std::vector<double>{4, 5});
  CHECK(some.piece(1, 0).begin == 4);
  CHECK_THROWS_AS(some.batch(2), Error);
  CHECK(all.at_most(0).count() == 5);
  CHECK(all.at_most(9).count() == 5);
}

TEST_CASE("documents are walked one after another and do not run into each other") {
  const TokenDataset dataset = document_dataset({{5, 6, 7}, {8}}, 0);
  const Walk all = walk(dataset, options_of(12, 3));
  CHECK(all.tokens == Ids{0, 5, 6, 7, 0, 8});
  CHECK(all.targets == Ids{5, 6, 7, 0, 8, 0});
  const SequentialBatches batches(dataset, options_of(12, 3));
  REQUIRE(batches.count() == 1);
  CHECK(batches.batch(0).offsets == std::vector<Index>{0, 3, 4, 6});
}

TEST_CASE("batches of an evaluation that do not exist and bad options are refused") {
  const TokenDataset dataset = stream_dataset({1, 2, 3});
  const SequentialBatches batches(dataset, options_of(1, 1));
  CHECK(batches.count() == 2);
  CHECK_THROWS_WITH(batches.batch(2), "[SequentialBatches] batch 2 is outside 0 ... 1");
  CHECK_THROWS_AS(batches.batch(-1), Error);
  CHECK_THROWS_WITH(SequentialBatches(dataset, options_of(0, 1)),
                    "[SequentialBatches] batch_size must be at least 1, got 0");
  CHECK_THROWS_AS(SequentialBatches(dataset, options_of(1, 0)), Error);
}
