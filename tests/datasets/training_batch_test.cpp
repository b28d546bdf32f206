#include "support/test.h"

TEST_CASE("inputs are all tokens but the last and targets all but the first") {
  const Batch batch = training_batch({{7, 8, 9}, {5, 6}});
  CHECK(ids_of(batch.tokens) == Ids{7, 8, 5});
  CHECK(ids_of(batch.targets) == Ids{8, 9, 6});
  CHECK(ids_of(batch.positions) == Ids{0, 1, 0});
  CHECK(batch.offsets == std::vector<Index>{0, 2, 3});
  CHECK(batch.target_count == 3);
}

TEST_CASE("a sequence without a target contributes nothing") {
  const Batch batch = training_batch({{4}, {7, 8}, {}, {9}});
  CHECK(ids_of(batch.tokens) == Ids{7});
  CHECK(ids_of(batch.targets) == Ids{8});
  CHECK(batch.sequence_count() == 1);
  const std::string message = "[training_batch] no sequence has two tokens, so there is no target";
  CHECK_THROWS_WITH(training_batch({{98}}), message);
  CHECK_THROWS_WITH(training_batch({{}, {1}, {}}), message);
  CHECK_THROWS_AS(training_batch({}), Error);
}

TEST_CASE("a pair of answers becomes two sequences of a batch of pairs") {
  const Ids first{as_context(7), 8, 9, kPairBreak, as_context(7), 5};
  const Ids second{as_context(1), as_context(2), 3, kPairBreak, as_context(1), 4, 6};
  const Batch batch = training_batch({first, second});
  CHECK(batch.pairs);
  CHECK(ids_of(batch.tokens) == Ids{7, 8, 7, 1, 2, 1, 4});
  CHECK(ids_of(batch.targets) == Ids{8, 9, 5, kIgnoreTarget, 3, 4, 6});
  CHECK(batch.offsets == std::vector<Index>{0, 2, 3, 5, 7});
  CHECK(batch.target_count == 6);
  CHECK(batch.loss_terms() == 2);
  CHECK_FALSE(training_batch({{7, 8}}).pairs);
  CHECK(training_batch({{7, 8, 9}}).loss_terms() == 2);
}

TEST_CASE("incomplete pairs and pairs among other sequences are refused") {
  const Ids pair{1, 2, kPairBreak, 3, 4};
  const auto sequences =
      GENERATE_COPY(std::vector<Ids>{pair, {5, 6}}, std::vector<Ids>{{5, 6}, pair},
                    std::vector<Ids>{{1, kPairBreak, 3, 4}},
                    std::vector<Ids>{{1, 2, kPairBreak, 3}}, std::vector<Ids>{{kPairBreak}});
  CHECK_THROWS_WITH(training_batch(sequences),
                    "[training_batch] expected pairs of answers with at least two tokens each");
}
