#include "headlight/show/plot/matrix_plot.h"
#include "show/attention_samples.h"
#include "support/test.h"

TEST_CASE("a matrix plot has a cell for every number, coloured by its sign and size") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = matrix_plot_svg({.title = "a < b",
                                           .row_title = "layer",
                                           .column_title = "head",
                                           .rows = {"0", "1"},
                                           .columns = {"0", "1", "2"},
                                           .values = {-0.004, 2, -2, 1, none, -4},
                                           .limit = 2});
  CHECK(occurrences(svg, "<rect x=") == 5);
  CHECK(occurrences(svg, "a &lt; b") == 2);
  CHECK(occurrences(svg, "fill=\"#ffffff\"") == 1);
  CHECK(occurrences(svg, "fill=\"#005ab5\"") == 1);  // 2, the limit
  CHECK(occurrences(svg, "fill=\"#dc6005\"") == 2);  // -2 and -4, beyond the limit
  CHECK(occurrences(svg, "<title>1, 2: -4</title>") == 1);
  CHECK(occurrences(svg, ">-4.00<") == 1);
  CHECK(occurrences(svg, ">0.00<") == 1);  // not -0.00
}

TEST_CASE("the colours of a matrix plot span its values when no limit is given") {
  const std::string svg =
      matrix_plot_svg({.title = "t", .rows = {"0"}, .columns = {"0", "1"}, .values = {0.5, -0.25}});
  CHECK(occurrences(svg, "#005ab5") == 1);
  CHECK(occurrences(svg, "#dc6005") == 0);
}

TEST_CASE("a wide matrix plot leaves the numbers to the tooltips") {
  const std::string svg = matrix_plot_svg({.title = "t",
                                           .rows = {"0"},
                                           .columns = std::vector<std::string>(17, "c"),
                                           .values = std::vector<double>(17, 0.5)});
  CHECK(occurrences(svg, ">0.50<") == 0);
  CHECK(occurrences(svg, ": 0.5</title>") == 17);
}

TEST_CASE("a matrix plot can show texts instead of values cut to the width of a cell") {
  MatrixPlot plot{.title = "t",
                  .rows = {"0"},
                  .columns = std::vector<std::string>(17, "c"),
                  .values = std::vector<double>(17, 0.5),
                  .texts = std::vector<std::string>(17, "a<b")};
  plot.texts[3] = "a text that is much longer than a cell is wide";
  const std::string svg = matrix_plot_svg(plot);
  CHECK(occurrences(svg, ">a&lt;b</text>") == 16);
  CHECK(occurrences(svg, "</title>") == 18);
  CHECK(occurrences(svg, ": 0.5, a&lt;b</title>") == 16);
  CHECK(occurrences(svg, "…</text>") == 1);
  CHECK(occurrences(svg, ">0.50<") == 0);
  plot.texts.pop_back();
  check_error([&] { matrix_plot_svg(plot); }, {"17 texts", "16"});
}

TEST_CASE("a matrix plot refuses mismatched sizes") {
  check_error([] { matrix_plot_svg({}); }, {"matrix_plot_svg", "0 and 0"});
  check_error(
      [] { matrix_plot_svg({.title = "t", .rows = {"0"}, .columns = {"0"}, .values = {}}); },
      {"matrix_plot_svg", "1 values", "got 0"});
}

TEST_CASE("column labels wider than a cell are drawn vertically above the cells") {
  const auto top_of = [](const std::vector<std::string>& columns) {
    const std::string svg = matrix_plot_svg({.title = "t",
                                             .rows = {"0"},
                                             .columns = columns,
                                             .values = std::vector<double>(columns.size(), 0.5)});
    CHECK(occurrences(svg, "rotate(-90 ") == (columns[0].size() > 8 ? std::ssize(columns) : 0));
    const std::size_t cell = svg.find("<rect x=");
    return std::stod(svg.substr(svg.find(" y=\"", cell) + 4));
  };
  const double flat = top_of({"0", "1"});
  const double upright = top_of({"a label of many letters", "1"});
  CHECK(upright >= flat + 23 * 0.36 * 11);
}

TEST_CASE("a matrix of uncertain values has a note and marks its values") {
  const std::string svg = matrix_plot_svg({.title = "t",
                                           .rows = {"0"},
                                           .columns = {"0", "1"},
                                           .values = {1, -0.5},
                                           .limit = 1,
                                           .note = "these are <nothing>",
                                           .doubtful = true});
  CHECK(occurrences(svg, "these are &lt;nothing&gt;") == 1);
  CHECK(occurrences(svg, ">1.00?<") == 1);
  CHECK(occurrences(svg, ">-0.50?<") == 1);
  CHECK(occurrences(svg, "#005ab5") == 0);  // faint
}
