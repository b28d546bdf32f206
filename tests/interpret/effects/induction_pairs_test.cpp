#include "headlight/interpret/effects/induction_pairs.h"
#include "support/test.h"

namespace induction_pairs_test {
const GptConfig kConfig{.vocab_size = 40, .block_size = 32};

TEST_CASE("induction pairs differ in the token before the answers", "[heads]") {
  RepeatOptions options{.sequences = 50, .length = 12, .tokens = {}, .first = 39};
  for (std::int32_t id = 3; id < 33; ++id) {
    options.tokens.push_back(id);
  }
  const std::vector<InductionPair> pairs = induction_pairs(options, kConfig);
  REQUIRE(pairs.size() == 50);
  for (const InductionPair& pair : pairs) {
    const Ids& clean = pair.task.clean;
    const Ids& corrupt = pair.task.corrupt;
    REQUIRE(clean.size() == 1 + 12 + 2 + 1);
    CHECK(clean[0] == 39);
    CHECK(std::set<std::int32_t>(clean.begin() + 1, clean.begin() + 13).size() == 12);
    const auto a = static_cast<std::size_t>(pair.answer_position - 1);
    const auto x = static_cast<std::size_t>(pair.wrong_position - 1);
    CHECK(a + 4 <= x);
    CHECK(std::equal(clean.end() - 3, clean.end(), clean.begin() + static_cast<Index>(a) - 2));
    Ids swapped = clean;
    for (std::size_t back = 0; back < 3; ++back) {
      std::swap(swapped[a - back], swapped[x - back]);
    }
    CHECK(corrupt == swapped);
    CHECK(pair.task.answer == Ids{clean[a + 1]});
    CHECK(pair.task.wrong == Ids{corrupt[x + 1]});
  }
}

TEST_CASE("the answers of induction pairs occur at varying distances", "[heads]") {
  std::set<Index> distances;
  for (const InductionPair& pair : induction_pairs({.sequences = 50, .length = 12}, kConfig)) {
    distances.insert(std::ssize(pair.task.clean) - pair.answer_position);
  }
  CHECK(distances.size() == 5);  // A is at 2 to 6 of 12
}

TEST_CASE("the length of induction pairs is limited by the block and the vocabulary", "[heads]") {
  const auto length = [](const RepeatOptions& options, Index block) {
    return induction_pairs(options, {.vocab_size = 40, .block_size = block})[0].task.clean.size();
  };
  CHECK(length({.length = 12}, 16) == 15);
  CHECK(length({.length = 12}, 10) == 10);
  CHECK(length({.length = 12, .tokens = {1, 2, 3, 4, 5, 5, 6}}, 16) == 6 + 1 + 1);
  check_error([&] { length({.length = 12}, 5); }, {"5 different tokens", "block of 5"});
  check_error([&] { length({.length = 12, .tokens = {1, 2, 3, 4}}, 16); }, {"4 tokens"});
  check_error([&] { length({.sequences = 0, .length = 12}, 16); }, {"at least one pair"});
}
}  // namespace induction_pairs_test
