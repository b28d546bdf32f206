#pragma once

#include <string>
#include <vector>

namespace headlight {

// Heat map of a matrix.
struct MatrixPlot {
  std::string title = {};
  std::string row_title = {};             // "layer"
  std::string column_title = {};          // "head"
  std::vector<std::string> rows = {};     // labels, [R]
  std::vector<std::string> columns = {};  // labels, [K]
  std::vector<double> values = {};        // [R, K]; a value that is not finite leaves a blank cell
  std::vector<std::string> texts = {};    // [R, K], shown in the cells; empty: the values
  // Ends of intervals, [R, K] each, shown in a cell's tooltip; empty: no intervals.
  std::vector<double> lows = {};
  std::vector<double> highs = {};
  double limit = 0;       // colours run from -limit to limit; 0: the largest absolute value
  std::string note = {};  // warning below the title
  bool doubtful = false;  // draw cells faintly, with a question mark after each value
};

// Returns the matrix as an SVG figure: blue above 0, orange below, white at 0. Cells show their
// texts, shortened to fit, or with at most 16 columns their values. Column labels wider than a cell
// are vertical, so that they do not overlap. The figure refers to no other file. Throws Error if
// there is no cell, the lengths of values, texts, lows and highs differ from the number of cells,
// or there are more than 1024 rows or columns.
std::string matrix_plot_svg(const MatrixPlot& plot);

}  // namespace headlight
