#include "headlight/interpret/bootstrap.h"
#include "support/test.h"

TEST_CASE("the mean weights documents by their tokens") {
  const Interval interval = bootstrap_mean({{2, 1}, {3, 9}});
  CHECK(interval.mean == 0.5);
  CHECK(interval.low >= 3.0 / 9);
  CHECK(interval.high <= 2);
}

TEST_CASE("equal documents or one document or none give an interval of width 0") {
  const auto check = [](const std::vector<DocumentSum>& documents, double expected) {
    const Interval interval = bootstrap_mean(documents);
    CHECK(interval.mean == expected);
    CHECK(interval.low == expected);
    CHECK(interval.high == expected);
  };
  check({{2, 4}, {1, 2}, {4, 8}}, 0.5);
  check({{3, 4}}, 0.75);
  check({}, 0);
  check({{0, 0}, {0, 0}}, 0);
}

TEST_CASE("bootstrap draws without measurements do not pull the interval to 0") {
  const Interval rare = bootstrap_mean({{0.9, 1}, {0, 0}, {0, 0}, {0.8, 1}});
  CHECK(rare.low == 0.8);
  CHECK(rare.high == 0.9);
  const Interval single = bootstrap_mean({{0, 0}, {0.9, 1}, {0, 0}});
  CHECK(single.low == 0.9);
}

TEST_CASE("the interval of many normal documents is that of the normal distribution") {
  const auto documents = counted<DocumentSum>(std::uint64_t{400}, [&](std::uint64_t i) {
    return DocumentSum{10 + 2 * RandomStream{5, 1}.normal(i), 1};
  });
  const Interval interval = bootstrap_mean(documents, {.resamples = 4000});
  CHECK(interval.high - interval.low == Approx(2 * 1.96 * 2 / std::sqrt(400.0)).epsilon(0.1));
  CHECK(bootstrap_mean(documents).low == bootstrap_mean(documents).low);
  CHECK(bootstrap_mean(documents).low != bootstrap_mean(documents, {.seed = 2}).low);
}

TEST_CASE("many measures of the same documents get the intervals that each gets alone") {
  std::vector<std::vector<DocumentSum>> measures(3);
  for (std::uint64_t i = 0; i < 20; ++i) {
    for (std::size_t m = 0; m < 3; ++m) {
      measures[m].push_back({RandomStream{7, m}.uniform(i), 1 + static_cast<double>(i % 3)});
    }
  }
  const std::vector<Interval> together = bootstrap_means(measures, {.resamples = 200});
  REQUIRE(together.size() == 3);
  for (std::size_t m = 0; m < 3; ++m) {
    const Interval alone = bootstrap_mean(measures[m], {.resamples = 200});
    CHECK(together[m].mean == alone.mean);
    CHECK(together[m].low == alone.low);
    CHECK(together[m].high == alone.high);
    CHECK(together[m].low < together[m].high);
  }
  const Interval plain = bootstrap_means(measures, {.resamples = 0})[0];
  CHECK(plain.low == plain.mean);
  CHECK(plain.mean == together[0].mean);
  CHECK(bootstrap_means({}).empty());
  measures[1].pop_back();
  check_error([&] { bootstrap_means(measures); }, {"20", "19"});
}

TEST_CASE("bootstrap options out of range are refused") {
  check_error([] { bootstrap_mean({}, {.resamples = 0}); }, {"resamples", "0"});
}

TEST_CASE("the interval of a bounded mean follows Hoeffding's inequality within 0 to 1") {
  const Interval few = bounded_mean(1, 4);
  CHECK(few.mean == 1);
  CHECK(few.low == Approx(1 - std::sqrt(std::log(40.0) / 8)));
  CHECK(few.high == 1);
  const Interval many = bounded_mean(0.5, 10000);
  CHECK(many.high - many.low == Approx(2 * std::sqrt(std::log(40.0) / 20000)));
  CHECK(bounded_mean(0, 0).low == 0);
  CHECK(bounded_mean(0, 0).high == 1);
}

TEST_CASE("too few documents cause a warning") {
  CHECK(few_documents_caution(kEnoughDocuments).empty());
  CHECK(mentions(few_documents_caution(3), {"caution", "3 sequences", "10"}));
  CHECK(mentions(few_documents_caution(1), {"caution", "single sequence"}));
}
