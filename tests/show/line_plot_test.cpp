#include "headlight/show/plot/line_plot.h"
#include "show/attention_samples.h"
#include "support/test.h"

TEST_CASE("a line plot spans its values with round ticks and puts them at their places") {
  const std::string svg = line_plot_svg({.title = "Loss & heads",
                                         .x_label = "heads",
                                         .y_label = "loss",
                                         .series = {{"", {0, 5, 10}, {2, 3, 4}}},
                                         .points = true});
  CHECK(contains(svg, "Loss &amp; heads"));
  // The x axis maps 0 ... 10 to 72 ... 616, the y axis 2 ... 4 to 324 ... 52.
  check_parts(svg, {"d=\"M72 324L344 188L616 52\"", "<circle cx=\"344\" cy=\"188\""});
  check_parts(svg, {">0<", ">2<", ">10<", ">2.5<", ">4<"});
  CHECK_FALSE(contains(svg, "http://www.w3.org/1999/xlink"));
}

TEST_CASE("a line plot of several series names them and leaves gaps where there is no number") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::string svg =
      line_plot_svg({.title = "t",
                     .series = {{"first", {0, 1, 2, 3}, {1, none, 1, 2}}, {"<b>", {0, 3}, {0, 0}}},
                     .y_from_zero = true});
  check_parts(svg, {">first<", "&lt;b&gt;"});
  const std::size_t path = svg.find("d=\"M");
  const std::string first = svg.substr(path, svg.find('"', path + 3) - path);
  CHECK(std::count(first.begin(), first.end(), 'M') == 2);
  CHECK_FALSE(contains(svg, "nan"));
}

TEST_CASE("a line plot of equal values still has an axis") {
  CHECK(contains(line_plot_svg({.title = "t", .series = {{"", {1}, {0.5}}}}), "d=\"M344 188\""));
}

TEST_CASE("panels stand below each other over the range of all their values") {
  const std::string svg =
      line_panels_svg({{.title = "upper",
                        .series = {{"a", {0, 5}, {0, 1}}, {"b", {0, 5}, {1, 0}, true}},
                        .marks = {5, 40}},
                       {.title = "lower", .series = {{"", {0, 10}, {2, 4}}}}});
  check_parts(svg, {"viewBox=\"0 0 640 760\"", "<g transform=\"translate(0 380)\">"});
  // The x axis ends at 10 in both plots. The faint curve is grey and has no legend entry.
  check_parts(svg, {"d=\"M72 324L344 52\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\"",
                    "d=\"M72 52L344 324\" fill=\"none\" stroke=\"#c3c6d1\" stroke-width=\"1\"",
                    "d=\"M72 324L616 52\"", ">a<"});
  CHECK_FALSE(contains(svg, ">b<"));
  // One mark is on the axis, the other beyond its end.
  const std::size_t mark = svg.find("stroke-dasharray");
  REQUIRE(mark != std::string::npos);
  CHECK(contains(svg, "<line x1=\"344\" y1=\"52\" x2=\"344\" y2=\"324\" stroke=\"#6b6f80\""));
  CHECK(svg.find("stroke-dasharray", mark + 1) == std::string::npos);
}

TEST_CASE("a line plot refuses what it cannot draw") {
  check_error(
      [] {
        line_plot_svg({.title = "t", .series = {{"a", {1, 2}, {1}}}});
      },
      {"line_plot_svg", "'a'", "2", "1"});
  check_error([] { line_plot_svg({}); }, {"line_plot_svg", "finite"});
  check_error([] { line_panels_svg({}); }, {"line_panels_svg", "at least one"});
}

TEST_CASE("series that belong together share a colour and one name") {
  const std::string svg = line_plot_svg(
      {.title = "t",
       .series = {{.name = "run", .x = {0, 1}, .y = {0, 1}, .thin = true, .colour = 1},
                  {.name = "", .x = {0, 1}, .y = {1, 0}, .points = true, .colour = 1},
                  {.name = "other", .x = {0, 1}, .y = {1, 1}}}});
  check_parts(svg, {"stroke=\"#d55e00\" stroke-width=\"1\"",
                    "stroke=\"#d55e00\" stroke-width=\"2\"", "r=\"3\" fill=\"#d55e00\"",
                    "stroke=\"#0072b2\" stroke-width=\"2\""});  // first free colour
  CHECK(occurrences(svg, "stroke-width=\"3\"") == 2);
}

TEST_CASE("a line plot cuts off values above its upper limit") {
  const std::string svg =
      line_plot_svg({.title = "t", .series = {{"", {0, 1, 2}, {100, 1, 0}}}, .y_high = 1});
  CHECK(contains(svg, ">0.8<"));
  CHECK_FALSE(contains(svg, ">100<"));
  CHECK(contains(svg, "clip-path=\"url(#axes)\""));
}

TEST_CASE("long tick labels get enough room on both sides") {
  const std::string svg = line_plot_svg(
      {.title = "t", .series = {{"", {0, 1.2e9}, {0.00000125, 0.00000131}}}, .y_from_zero = false});
  // The widest labels are 0.0000013 (9 characters) and 1000000000, about 7 units a character. The
  // axis name takes 28.
  const std::size_t path = svg.find("d=\"M");
  CHECK(std::stod(svg.substr(path + 4)) > 28 + 8 * 6);
  const std::size_t last = svg.find("L", path);
  CHECK(640 - std::stod(svg.substr(last + 1)) >= 10 * 6 / 2);
}
