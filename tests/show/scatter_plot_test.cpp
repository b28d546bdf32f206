#include "headlight/show/plot/scatter_plot.h"
#include "show/attention_samples.h"
#include "support/test.h"

TEST_CASE("a scatter plot has a circle for each finite point and Pearson's r") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  ScatterPlot plot{.title = "a < b",
                   .x_label = "x",
                   .y_label = "y",
                   .points = {{"0.0", 0, 1}, {"<0.1>", 1, 3}, {"0.2", 2, 5}, {"0.3", none, 9}}};
  const std::string svg = scatter_plot_svg(plot);
  CHECK(occurrences(svg, "<circle") == 3);
  CHECK(has_parts(svg, {"a &lt; b", "3 points, r = 1.00", "&lt;0.1&gt;: 1.0000, 3.0000"}));
  CHECK_FALSE(contains(svg, "stroke-dasharray"));
  plot.has_diagonal = true;
  CHECK(contains(scatter_plot_svg(plot), "stroke-dasharray"));
  plot.points = {{"0.0", 1, 1}};  // no r of one point
  CHECK(has_parts(scatter_plot_svg(plot), {"1 point<"}));
}

TEST_CASE("labels of a scatter plot are those of the outlying points and do not overlap") {
  ScatterPlot plot;
  for (int i = 0; i < 100; ++i) {
    plot.points.push_back({"inner", 0.5, 0.5});
  }
  plot.points.push_back({"outer", 0, 1});
  plot.points.push_back({"hidden", 0, 1});
  const std::string svg = scatter_plot_svg(plot);
  CHECK(contains(svg, ">outer</text>"));
  CHECK_FALSE(contains(svg, ">hidden</text>"));
}

TEST_CASE("labels of a scatter plot cover no point") {
  // A point is where the label of "named" would be, so the label is on the other side.
  const ScatterPlot plot{.points = {{"named", 0.5, 0.5}, {"", 0.53, 0.5}, {"", 0, 0}, {"", 1, 1}}};
  const std::string svg = scatter_plot_svg(plot);
  const std::size_t label = svg.rfind("<text x=\"", svg.find(">named</text>"));
  const std::size_t circle = svg.find("<circle cx=\"");
  REQUIRE(label != svg.npos);
  CHECK(std::stod(svg.substr(label + 9)) < std::stod(svg.substr(circle + 12)) - 30);
  ScatterPlot crowded{.points = {{"inner", 0.5, 0.5}}};
  for (int i = -40; i <= 40; ++i) {
    for (int j = -20; j <= 20; ++j) {
      crowded.points.push_back({"", 0.5 + i * 0.01, 0.5 + j * 0.02});
    }
  }
  CHECK_FALSE(contains(scatter_plot_svg(crowded), ">inner</text>"));
}

TEST_CASE("a scatter plot needs a finite point") {
  CHECK(has_parts(error_of([] { scatter_plot_svg({.points = {}}); }), {"finite point"}));
}
