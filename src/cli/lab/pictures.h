#pragma once

#include <string>
#include <vector>

#include "cli/lab/lab.h"
#include "headlight/tensor/tensor.h"
#include "headlight/views/line_plot.h"

// Pictures: of block characters for terminals, and as SVG.
namespace headlight::cli::lab {

struct Bar {
  std::string label;
  double value = 0;  // not negative
};

// A bar for each value, from zero on, with the value behind it.
std::string bars(const std::vector<Bar>& values, int decimals = 3, int width = 40);

// Weights [T, S] as a field of shades, rows by columns; the rows carry labels. `darkest` and more
// is drawn in full, exactly 0 as a dot.
std::string shades(const Tensor& weights, const std::vector<std::string>& row_labels,
                   double darkest = 1);

// Blocks of lines next to each other, each under its title.
std::string side_by_side(const std::vector<std::string>& titles,
                         const std::vector<std::string>& blocks);

// The attention weights of heads, [T, T] or [H, T, T], as SVG.
std::string weights_svg(const std::string& title, const std::vector<std::string>& tokens,
                        const Tensor& weights);

// Curves over one axis, from zero on.
struct CurvePlot {
  std::string title;
  Text x_label;
  Text y_label;
  std::vector<PlotSeries> series;
  bool points = false;  // the values are marked
};

void draw_curves(const std::string& file, const CurvePlot& plot, Report& report);

}  // namespace headlight::cli::lab
