#include "support/test.h"

BatcherOptions packed_options(Index batch_size, Index block_size) {
  BatcherOptions options{.batch_size = batch_size, .block_size = block_size};
  return options;
}

TEST_CASE("packed blocks start anywhere in the stream") {
  const TokenDataset dataset = stream_dataset(ids_of(Tensor::arange(50)));
  Batcher batcher(dataset, packed_options(6, 8));
  std::set<std::int32_t> starts;
  for (Index i = 0; i < 100; ++i) {
    const Batch batch = batcher.batch(i);
    REQUIRE(batch.sequence_count() == 6);
    REQUIRE(batch.token_count() == 48);
    const Ids tokens = ids_of(batch.tokens);
    const Ids targets = ids_of(batch.targets);
    const Ids positions = ids_of(batch.positions);
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      REQUIRE(targets[n] == tokens[n] + 1);
      REQUIRE(positions[n] == static_cast<std::int32_t>(n % 8));
      REQUIRE((n % 8 == 0 || tokens[n] == tokens[n - 1] + 1));
    }
    for (std::size_t n = 0; n < tokens.size(); n += 8) {
      starts.insert(tokens[n]);
    }
  }
  CHECK(starts.size() == 42);  // 0 ... 41: the last block's last target is token 49
  CHECK(*starts.rbegin() == 41);
}

TEST_CASE("a stream shorter than a block is taken whole, and one without a target refused") {
  const TokenDataset dataset = stream_dataset({7, 8, 9});
  Batcher batcher(dataset, packed_options(2, 1024));
  CHECK(batcher.sequences(5) == std::vector<Ids>{{7, 8, 9}, {7, 8, 9}});
  CHECK(batcher.batches_per_epoch() == 1);
  const TokenDataset single = stream_dataset({7});
  CHECK_THROWS_WITH(Batcher(single, packed_options(2, 8)),
                    "[Batcher] the stream has 1 tokens, expected at least 2");
  BatcherOptions padded = packed_options(2, 8);
  padded.batching = Batching::padded;
  CHECK_THROWS_AS(Batcher(single, padded), Error);
}
