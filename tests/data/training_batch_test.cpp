#include "headlight/data/training_batch.h"

#include "support/catch.h"
#include "support/seed_sequences.h"

namespace training_batch_test {

using namespace headlight;

namespace {

using Ids = std::vector<std::int32_t>;

Ids ids_of(const Tensor& tensor) {
  const auto* values = tensor.data<std::int32_t>();
  return {values, values + tensor.numel()};
}

}  // namespace

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

TEST_CASE("a training batch has every token but the last and every target") {
  Ids tokens;
  Ids targets;
  for (const Ids& sequence : seed_sequences()) {
    tokens.insert(tokens.end(), sequence.begin(), sequence.end() - 1);
    targets.insert(targets.end(), sequence.begin() + 1, sequence.end());
  }
  const Batch batch = training_batch(seed_sequences());
  CHECK(ids_of(batch.tokens) == tokens);
  CHECK(ids_of(batch.targets) == targets);
  CHECK(batch.target_count == 84);
  CHECK(batch.sequence_count() == 9);
}

}  // namespace training_batch_test
