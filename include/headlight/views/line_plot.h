#pragma once

#include <limits>
#include <string>
#include <vector>

namespace headlight {

struct PlotSeries {
  std::string name;       // in the legend; empty: it is not there
  std::vector<double> x;  // ascending
  std::vector<double> y;  // as many; values that are not finite leave a gap
  bool faint = false;     // thin and grey, without a name in the legend: one of many
  bool thin = false;
  bool points = false;  // a dot at every value
  int colour = -1;      // place in the palette, for series that belong together; -1: the next
};

struct LinePlot {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  std::vector<PlotSeries> series = {};
  bool y_from_zero = false;  // else the axis spans the values
  // What is higher is cut off, so that a few values do not press the others together.
  double y_high = std::numeric_limits<double>::infinity();
  bool points = false;             // a dot at every value of all series, for few of them
  std::vector<double> marks = {};  // of x: a dashed line from top to bottom
};

// Curves over a common axis as an SVG figure with ticks, a grid and a legend in the emptiest
// corner, on a white ground; it refers to no other file. Colours can be told apart by colour-blind
// eyes (Okabe and Ito, "Color Universal Design", 2008). Throws Error when a series has another
// number of x than of y, or no series holds a finite value.
std::string line_plot_svg(const LinePlot& plot);

// Several such figures in one, one below the other over the same range of x, so that what happens
// at the same time stands in one column. Throws Error as line_plot_svg does, and without a plot.
std::string line_panels_svg(const std::vector<LinePlot>& plots);

}  // namespace headlight
