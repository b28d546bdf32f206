#pragma once

#include <string>
#include <utility>
#include <vector>

#include "course/report/report.h"
#include "headlight/show/plot/line_plot.h"
#include "headlight/show/plot/matrix_plot.h"
#include "headlight/tensor/tensor.h"

// Pictures in block characters for terminals, and as SVG.
namespace headlight::cli::lab {

struct Bar {
  std::string label;
  double value = 0;  // at least 0
};

// Bar chart that starts at 0, with the value after each bar.
std::string bars(const std::vector<Bar>& values, int decimals = 3, int width = 40);

// Weights [T, S] as a grid of shades with labelled rows. Values from `darkest` on get the darkest
// shade, exact zeros a dot.
std::string shades(const Tensor& weights, const std::vector<std::string>& row_labels,
                   double darkest = 1);

// Blocks of lines side by side, each under its title.
std::string side_by_side(const std::vector<std::pair<std::string, std::string>>& titled_blocks);

// The weights of every head [H, T, T] as shades under "HEAD 0" ..., as many side by side as fit a
// line; empty if not even one fits.
std::string head_shades(const std::string& head, const Tensor& weights,
                        const std::vector<std::string>& row_labels);

// The attention weights of heads, [T, T] or [H, T, T], as SVG.
std::string weights_svg(const std::string& title, const std::vector<std::string>& tokens,
                        const Tensor& weights, Language language = Language::english);

// Adds curves over one axis that starts at 0, with a mark at each value if `points`. Section
// `words` has the entries "title", "x" and "y".
struct Curves {
  std::string file;
  std::vector<PlotSeries> series;
  bool points = false;
  std::string words = file;
  Json shown = Json::object();
};

void draw_curves(const Curves& curves, Report& report);

// Adds a matrix, whose titles are the entries "title", "rows" and "columns" of section `words`.
void draw_matrix(const std::string& file, MatrixPlot plot, Report& report,
                 const Json& shown = Json::object());

}  // namespace headlight::cli::lab
