#include "datasets/batches/permutation.h"
#include "support/test.h"

std::vector<Index> all_of(Index count, const RandomStream& random) {
  const Permutation order(count, random);
  return counted<Index>(count, [&](Index place) { return order(place); });
}

TEST_CASE("a permutation gives every number once") {
  for (const Index count : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 63, 64, 65, 1000, 4097, 70001}) {
    std::vector<Index> numbers = all_of(count, {3, 4});
    std::sort(numbers.begin(), numbers.end());
    std::vector<Index> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), Index{0});
    CHECK((numbers == expected));
  }
}

TEST_CASE("numbers of a huge permutation lie in its range and differ") {
  constexpr Index kCount = (Index{1} << 62) - 57;
  const Permutation order(kCount, {3, 4});
  std::vector<Index> numbers;
  for (Index place = kCount - 1000; place < kCount; ++place) {
    numbers.push_back(order(place));
    REQUIRE(numbers.back() >= 0);
    REQUIRE(numbers.back() < kCount);
  }
  std::sort(numbers.begin(), numbers.end());
  CHECK(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
}

TEST_CASE("all orders of a few numbers come about equally often") {
  std::array<int, 6> count{};
  for (std::uint64_t key = 0; key < 6000; ++key) {
    const std::vector<Index> order = all_of(3, RandomStream{5, 6}.fork(key));
    const std::size_t rank = static_cast<std::size_t>(2 * order[0] + (order[1] > order[2] ? 1 : 0));
    ++count[rank];
  }
  for (const int times : count) {
    CHECK(times > 850);  // five standard deviations from 1000
    CHECK(times < 1150);
  }
}
