#pragma once

#include <string>
#include <vector>

namespace headlight {

struct ScatterPoint {
  std::string name = {};  // shown in the point's tooltip; outlying points carry it beside them
  double x = 0;
  double y = 0;
};

struct ScatterPlot {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  std::vector<ScatterPoint> points = {};  // points that are not finite are left out
  bool has_diagonal = false;              // draw the line y = x: both measure one quantity
};

// Returns points over two axes as an SVG figure, with their number and Pearson's r below the title.
// The points farthest from the middle have labels. The background is white, and the figure refers
// to no other file. Throws Error if no point is finite.
std::string scatter_plot_svg(const ScatterPlot& plot);

}  // namespace headlight
