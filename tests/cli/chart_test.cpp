#include "cli/chart.h"

#include <numeric>

#include "support/catch.h"

using headlight::cli::ChartValues;

TEST_CASE("a short series of values is kept as it is", "[cli]") {
  ChartValues values;
  for (int i = 0; i < 4096; ++i) {
    values.add(i);
  }
  std::vector<double> all(4096);
  std::iota(all.begin(), all.end(), 0.0);
  CHECK(values.points() == all);
  CHECK(values.count() == 4096);
}

TEST_CASE("a long series of values becomes means in memory that does not grow", "[cli]") {
  ChartValues values;
  constexpr int kCount = 20'001;
  for (int i = 0; i < kCount; ++i) {
    values.add(i);
  }
  // 4096 points of four became 2048 of eight: a point is the mean of eight consecutive numbers.
  const std::vector<double> points = values.points();
  CHECK(values.count() == kCount);
  REQUIRE(points.size() == 2501);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    CHECK(points[i] == 8.0 * static_cast<double>(i) + 3.5);
  }
  CHECK(points.back() == kCount - 1);  // one value stands alone at the end
}

TEST_CASE("a chart of many values looks like that of their means", "[cli]") {
  ChartValues values;
  std::vector<double> all;
  for (int i = 0; i < 16'384; ++i) {
    const double value = 1000.0 / (i + 100);
    values.add(value);
    all.push_back(value);
  }
  CHECK(headlight::cli::line_chart(values.points(), {.width = 64}) ==
        headlight::cli::line_chart(all, {.width = 64}));
}
