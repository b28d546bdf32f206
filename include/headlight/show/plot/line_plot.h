#pragma once

#include <limits>
#include <string>
#include <vector>

namespace headlight {

struct PlotSeries {
  std::string name = {};       // legend entry; empty: none
  std::vector<double> x = {};  // ascending
  std::vector<double> y = {};  // same length as x; non-finite values leave a gap
  bool faint = false;          // thin and grey, without a legend entry: one of many
  bool thin = false;
  bool points = false;  // a dot at every value
  int colour = -1;      // palette index, shared by related series; -1: the next free one
};

struct LinePlot {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  std::vector<PlotSeries> series = {};
  bool y_from_zero = false;  // false: the axis spans the values
  // Values above this do not extend the axis; curves are clipped at its end.
  double y_high = std::numeric_limits<double>::infinity();
  bool points = false;             // a dot at every value of every series
  std::vector<double> marks = {};  // x positions of dashed vertical lines
};

// Returns curves over a common x axis as an SVG figure with ticks, a grid and a legend in the
// emptiest corner. The background is white, and the figure refers to no other file. The colours
// suit colour-blind readers (Okabe and Ito, "Color Universal Design", 2008). Throws Error if x and
// y of a series differ in length, or no series holds a finite value.
std::string line_plot_svg(const LinePlot& plot);

// Returns several line plots as one SVG figure, one below the other with the same x range; with
// `same_y` also the same y range. Throws Error as line_plot_svg does, and if `plots` is empty.
std::string line_panels_svg(const std::vector<LinePlot>& plots, bool same_y = false);

}  // namespace headlight
