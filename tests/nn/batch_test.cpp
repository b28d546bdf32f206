#include "support/seed_sequences.h"
#include "support/test.h"

namespace batch_test {
void check_same(const Batch& a, const Batch& b) {
  CHECK(ids_of(a.tokens) == ids_of(b.tokens));
  CHECK(ids_of(a.positions) == ids_of(b.positions));
  CHECK(ids_of(a.targets) == ids_of(b.targets));
  CHECK(a.offsets == b.offsets);
  CHECK(a.target_count == b.target_count);
}

PaddedBatch small_padded() { return pad_sequences({{7, 8, 9}, {5}}, 6, 4); }

TEST_CASE("make_batch lays sequences end to end with positions and shifted targets") {
  const Batch batch = make_batch({{7, 8, 9}, {5}, {3, 4}});
  CHECK(batch.tokens.shape() == Shape{6});
  CHECK(ids_of(batch.tokens) == Ids{7, 8, 9, 5, 3, 4});
  CHECK(ids_of(batch.positions) == Ids{0, 1, 2, 0, 0, 1});
  CHECK(ids_of(batch.targets) == Ids{8, 9, kIgnoreTarget, kIgnoreTarget, 4, kIgnoreTarget});
  CHECK(batch.offsets == std::vector<Index>{0, 3, 4, 6});
  CHECK(batch.target_count == 3);
  CHECK(batch.sequence_count() == 3);
  CHECK(batch.token_count() == 6);
}

TEST_CASE("pad_sequences fills a rectangle on the right and marks the pads") {
  const PaddedBatch padded = small_padded();
  CHECK(padded.tokens.shape() == Shape{2, 4});
  CHECK(ids_of(padded.tokens) == Ids{7, 8, 9, 6, 5, 6, 6, 6});
  CHECK(padded.padding_mask.dtype() == DType::boolean);
  CHECK(padded.padding_mask.to_vector() == std::vector<double>{0, 0, 0, 1, 0, 1, 1, 1});
  CHECK(padded.lengths == std::vector<Index>{3, 1});
}

TEST_CASE("pad_sequences never makes the rectangle narrower than the longest sequence") {
  CHECK(pad_sequences({{7, 8, 9}, {5}}, 0, 2).tokens.shape() == Shape{2, 3});
  CHECK(pad_sequences({{7, 8, 9}, {5}}, 0, -5).tokens.shape() == Shape{2, 3});
}

TEST_CASE("remove_padding gives back the sequences whatever the pad id and the padded width") {
  const Batch direct = make_batch(seed_sequences());
  for (const std::int32_t pad_id : {0, 98, 99, -7}) {
    for (const Index width : {0, 20, 32, 64}) {
      check_same(remove_padding(pad_sequences(seed_sequences(), pad_id, width)), direct);
    }
  }
}

TEST_CASE("a token that equals the pad id is kept, because the mask decides") {
  const Batch batch = remove_padding(pad_sequences({{0, 5, 0}, {0}}, 0, 5));
  CHECK(ids_of(batch.tokens) == Ids{0, 5, 0, 0});
  CHECK(ids_of(batch.targets) == Ids{5, 0, kIgnoreTarget, kIgnoreTarget});
}

TEST_CASE("remove_padding drops rows that hold pads only") {
  check_same(remove_padding(pad_sequences({{}, {7, 8}, {}, {9}}, 3)), make_batch({{7, 8}, {9}}));
}

TEST_CASE("remove_padding reads views that are not contiguous") {
  PaddedBatch padded = small_padded();
  const Tensor columns = Tensor::from<std::int32_t>({7, 5, 8, 0, 9, 0, 0, 0}, {4, 2});
  padded.tokens = columns.strided_view({2, 4}, {1, 2});
  check_same(remove_padding(padded), make_batch({{7, 8, 9}, {5}}));
}

TEST_CASE("shards of a batch of pairs have whole pairs") {
  Batch batch = make_batch({{1, 2, 3, 4}, {5, 6}, {7}, {8, 9, 10}, {11, 12}, {13, 14}});
  batch.pairs = true;
  batch.records = {4, 2, 9};
  for (const Index shards : {1, 2, 3, 4, 7}) {
    Ids joined;
    Index pairs = 0;
    for (Index i = 0; i < shards; ++i) {
      const Batch part = shard_of(batch, i, shards);
      CHECK(part.pairs);
      CHECK(part.sequence_count() % 2 == 0);
      pairs += part.loss_terms();
      const Ids own = ids_of(part.tokens);
      joined.insert(joined.end(), own.begin(), own.end());
    }
    CHECK(pairs == 3);
    CHECK(joined == ids_of(batch.tokens));
  }
  CHECK(shard_of(batch, 0, 2).offsets == std::vector<Index>{0, 4, 6, 7, 10});
  CHECK(shard_of(batch, 1, 2).records == std::vector<Index>{9});
}
}  // namespace batch_test
