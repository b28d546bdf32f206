#include "headlight/heads/line_plot.h"

#include <limits>

#include "support/tensors.h"

using namespace headlight;
using namespace headlight::test;

namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a line plot spans its values with round ticks and puts them at their places") {
  const std::string svg = line_plot_svg({.title = "Loss & heads",
                                         .x_label = "heads",
                                         .y_label = "loss",
                                         .series = {{"", {0, 5, 10}, {2, 3, 4}}},
                                         .points = true});
  CHECK(holds(svg, "Loss &amp; heads"));
  // The axes run from 0 to 10 and from 2 to 4 over x 72 ... 616 and y 324 ... 52.
  CHECK(holds(svg, "d=\"M72 324L344 188L616 52\""));
  CHECK(holds(svg, "<circle cx=\"344\" cy=\"188\""));
  for (const char* tick : {">0<", ">2<", ">10<", ">2.5<", ">4<"}) {
    INFO(tick);
    CHECK(holds(svg, tick));
  }
  CHECK_FALSE(holds(svg, "http://www.w3.org/1999/xlink"));
}

TEST_CASE("a line plot of several series names them and leaves gaps where there is no number") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::string svg =
      line_plot_svg({.title = "t",
                     .series = {{"first", {0, 1, 2, 3}, {1, none, 1, 2}}, {"<b>", {0, 3}, {0, 0}}},
                     .y_from_zero = true});
  CHECK(holds(svg, ">first<"));
  CHECK(holds(svg, "&lt;b&gt;"));
  const std::size_t path = svg.find("d=\"M");
  const std::string first = svg.substr(path, svg.find('"', path + 3) - path);
  CHECK(std::count(first.begin(), first.end(), 'M') == 2);
  CHECK_FALSE(holds(svg, "nan"));
}

TEST_CASE("a line plot of equal values still has an axis") {
  CHECK(holds(line_plot_svg({.title = "t", .series = {{"", {1}, {0.5}}}}), "d=\"M344 188\""));
}

TEST_CASE("a line plot refuses what it cannot draw") {
  CHECK(mentions(error_of([] {
                   line_plot_svg({.title = "t", .series = {{"a", {1, 2}, {1}}}});
                 }),
                 {"line_plot_svg", "'a'", "2", "1"}));
  CHECK(mentions(error_of([] { line_plot_svg({}); }), {"line_plot_svg", "finite"}));
}
