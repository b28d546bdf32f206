#pragma once

#include <string>
#include <vector>

#include "cli/lab/lab.h"
#include "headlight/tensor/tensor.h"
#include "headlight/views/plot/line_plot.h"

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
std::string side_by_side(const std::vector<std::string>& titles,
                         const std::vector<std::string>& blocks);

// The attention weights of heads, [T, T] or [H, T, T], as SVG.
std::string weights_svg(const std::string& title, const std::vector<std::string>& tokens,
                        const Tensor& weights);

// Curves over one axis that starts at 0.
struct CurvePlot {
  std::string title;
  Text x_label;
  Text y_label;
  std::vector<PlotSeries> series;
  bool points = false;  // mark the values
};

void draw_curves(const std::string& file, const CurvePlot& plot, Report& report);

}  // namespace headlight::cli::lab
