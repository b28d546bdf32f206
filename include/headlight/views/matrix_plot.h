#pragma once

#include <string>
#include <vector>

namespace headlight {

// A value for every pair of a row and a column, as a figure.
struct MatrixPlot {
  std::string title = {};
  std::string row_title = {};             // "layer"
  std::string column_title = {};          // "head"
  std::vector<std::string> rows = {};     // labels, [R]
  std::vector<std::string> columns = {};  // labels, [K]
  std::vector<double> values = {};        // [R, K]; one that is not finite leaves its cell empty
  std::vector<std::string> texts = {};    // [R, K], that stand in the cells; none: the values do
  // [R, K] each, the ends of intervals, told when a pointer rests on a cell; none: there are none.
  std::vector<double> lows = {};
  std::vector<double> highs = {};
  double limit = 0;       // the colours run from -limit to limit; 0: the largest absolute value
  std::string note = {};  // stands below the title, as a warning does
  bool doubtful = false;  // cells are faint, and their values end with a question mark
};

// The matrix as SVG with the values in the cells as long as there are at most 16 columns, or with
// the texts, cut to their cells: blue above 0, orange below, white at 0. Labels of columns that are
// wider than a cell stand upright, so that none is cut or covers its neighbour. It refers to no
// other file. Throws Error when there is no cell, the number of values, texts or ends of intervals
// is another than that of cells, or there are more than 1024 rows or columns.
std::string matrix_plot_svg(const MatrixPlot& plot);

}  // namespace headlight
