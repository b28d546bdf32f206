#include "show/plot/chart.h"
#include "support/test.h"

TEST_CASE("a short series of values is kept as it is") {
  ChartValues values;
  for (int i = 0; i < 4096; ++i) {
    values.add(i);
  }
  std::vector<double> all(4096);
  std::iota(all.begin(), all.end(), 0.0);
  CHECK(values.points() == all);
  CHECK(values.count() == 4096);
}

TEST_CASE("a long series of values becomes means in memory that does not grow") {
  ChartValues values;
  constexpr int kCount = 20'001;
  for (int i = 0; i < kCount; ++i) {
    values.add(i);
  }
  // 4096 points of 4 values became 2048 points of 8: a point is the mean of 8 consecutive numbers.
  const std::vector<double> points = values.points();
  CHECK(values.count() == kCount);
  REQUIRE(points.size() == 2501);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    CHECK(points[i] == 8.0 * static_cast<double>(i) + 3.5);
  }
  CHECK(points.back() == kCount - 1);  // the last point has a single value
}

TEST_CASE("a chart of many values equals the chart of their means") {
  ChartValues values;
  std::vector<double> all;
  for (int i = 0; i < 16'384; ++i) {
    const double value = 1000.0 / (i + 100);
    values.add(value);
    all.push_back(value);
  }
  CHECK(headlight::line_chart(values.points(), {.width = 64}) ==
        headlight::line_chart(all, {.width = 64}));
}

TEST_CASE("a chart of several curves marks each with its letter") {
  const std::string chart = headlight::series_chart(
      {{.x = {0, 10}, .y = {0, 1}, .mark = 'a'}, {.x = {0, 10}, .y = {1, 0}, .mark = 'b'}},
      {.width = 5, .height = 5, .x_label = "time"});
  CHECK(chart ==
        "   0.900 ┤b   a\n"
        "         │ b a \n"
        "         │  b  \n"
        "         │ a b \n"
        "   0.100 ┤a   b\n"
        "         └─────\n"
        "          0  10\n"
        "          time\n");
}

TEST_CASE("a chart draws points above lines and cuts off values that are too high") {
  const std::string chart =
      headlight::series_chart({{.x = {0, 2, 4}, .y = {1, 1, 1}, .mark = 'A', .points = true},
                               {.x = {0, 1, 4}, .y = {1e15, 1, 1}, .mark = 'a'},
                               {.x = {4}, .y = {0}, .mark = 'z'}},
                              {.width = 5, .height = 2, .y_high = 1});
  CHECK(chart ==
        "   0.750 ┤AaAaA\n"
        "   0.250 ┤    z\n"
        "         └─────\n"
        "          0   4\n");
}

TEST_CASE("coloured curves are drawn in Braille dots and points as letters") {
  const std::string chart =
      headlight::series_chart({{.x = {0, 1}, .y = {0, 0}, .mark = 'a', .colour = 0},
                               {.x = {1}, .y = {1}, .mark = 'B', .colour = 1, .points = true}},
                              {.width = 2, .height = 2, .colours = true});
  check_parts(chart, {"⣀", "\x1B[38;5;208mB\x1B[0m"});
}

TEST_CASE("a chart without values is empty") {
  CHECK(headlight::series_chart({}).empty());
  CHECK(headlight::series_chart({{.x = {1}, .y = {std::nan("")}}}).empty());
}
