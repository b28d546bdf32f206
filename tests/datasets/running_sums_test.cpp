#include "datasets/batches/running_sums.h"
#include "support/test.h"

struct Asked {
  Index most = 0;  // largest number of lengths asked for at once
};

// Returns the sums of `count` items; item i has length i % 4.
RunningSums sums_of(Index count, Asked& asked) {
  return {count, [&asked](Index first, std::span<Index> lengths) {
            asked.most = std::max<Index>(asked.most, std::ssize(lengths));
            for (Index& length : lengths) {
              length = first++ % 4;
            }
          }};
}

void check_places(Index count, Index step) {
  Asked asked;
  const RunningSums sums = sums_of(count, asked);
  Index place = 0;
  for (Index item = 0; item < count; ++item) {
    const Index length = item % 4;
    if (length > 0 && (item % step == 0 || item % step == 3)) {
      for (const Index inside : {place, place + length - 1}) {
        const RunningSums::Item found = sums.find(inside);
        REQUIRE(found.number == item);
        REQUIRE(found.before == place);
      }
    }
    place += length;
  }
  CHECK(sums.total() == place);
  CHECK(asked.most <= std::max<Index>(1 << 14, count / RunningSums::kMost));
}

TEST_CASE("items are found by position with all sums stored or only some") {
  check_places(7, 1);
  check_places(RunningSums::kMost, 101);
  check_places(RunningSums::kMost + 1, 101);
  check_places(5 * RunningSums::kMost + 3, 101);
}

TEST_CASE("a list without items has length 0") {
  Asked asked;
  CHECK(sums_of(0, asked).total() == 0);
  CHECK(sums_of(1, asked).total() == 0);
}
