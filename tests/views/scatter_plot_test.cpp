#include "headlight/views/plot/scatter_plot.h"

#include <limits>

#include "support/tensors.h"

namespace scatter_plot_test {

using namespace headlight;
using namespace headlight::test;

namespace {

Index circles(const std::string& svg) {
  Index count = 0;
  for (std::size_t at = svg.find("<circle"); at != svg.npos; at = svg.find("<circle", at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a scatter plot has a circle for each finite point and Pearson's r", "[views]") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  ScatterPlot plot{.title = "a < b",
                   .x_label = "x",
                   .y_label = "y",
                   .points = {{"0.0", 0, 1}, {"<0.1>", 1, 3}, {"0.2", 2, 5}, {"0.3", none, 9}}};
  const std::string svg = scatter_plot_svg(plot);
  CHECK(circles(svg) == 3);
  CHECK(has_parts(svg, {"a &lt; b", "3 points, r = 1.00", "&lt;0.1&gt;: 1.0000, 3.0000"}));
  CHECK(svg.find("stroke-dasharray") == svg.npos);
  plot.has_diagonal = true;
  CHECK(scatter_plot_svg(plot).find("stroke-dasharray") != svg.npos);
  plot.points = {{"0.0", 1, 1}};  // no r of one point
  CHECK(has_parts(scatter_plot_svg(plot), {"1 point<"}));
}

TEST_CASE("labels of a scatter plot are those of the outlying points and do not overlap",
          "[views]") {
  ScatterPlot plot;
  for (int i = 0; i < 100; ++i) {
    plot.points.push_back({"inner", 0.5, 0.5});
  }
  plot.points.push_back({"outer", 0, 1});
  plot.points.push_back({"hidden", 0, 1});
  const std::string svg = scatter_plot_svg(plot);
  CHECK(svg.find(">outer</text>") != svg.npos);
  CHECK(svg.find(">hidden</text>") == svg.npos);
}

TEST_CASE("a scatter plot needs a finite point", "[views]") {
  CHECK(has_parts(error_of([] { scatter_plot_svg({.points = {}}); }), {"finite point"}));
}

}  // namespace scatter_plot_test
