#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace headlight {

struct ChartOptions {
  int width = 60;  // columns of the curve
  int height = 8;  // lines of the curve
  std::string x_label = {};
  // Range of the y axis, the same in charts to be compared; NaN: range of the values.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

// Returns a curve of block characters for terminals, with its range on the left. Averages values to
// fit the width and skips values that are not finite; returns "" if none remains.
std::string line_chart(const std::vector<double>& values, const ChartOptions& options = {});

// One curve of a chart.
struct ChartSeries {
  std::vector<double> x = {};
  std::vector<double> y = {};  // same length as x
  char mark = '*';             // character of points, and of lines without colours
  int colour = 0;              // palette index
  bool points = false;         // draw marks at the values instead of a line
};

struct SeriesChartOptions {
  int width = 70;  // columns of the plot area
  int height = 16;
  bool colours = false;  // lines of coloured dots; false: lines of marks
  double y_high = std::numeric_limits<double>::infinity();  // upper limit of the y axis
  std::string x_label = {};
  std::function<std::string(double)> x_text = {};  // formats x ticks; empty: whole numbers
};

// Returns several curves over common axes as text for terminals; later series cover earlier ones.
// Returns "" if there is no finite value.
std::string series_chart(const std::vector<ChartSeries>& series,
                         const SeriesChartOptions& options = {});

// Returns `text` in the colour of a series, with terminal escape sequences.
std::string in_series_colour(const std::string& text, int colour);

// Values of a chart that may grow for days, in bounded memory (4096 points). When it is full,
// neighbouring points are averaged, and every point then covers twice as many values.
class ChartValues {
 public:
  void add(double value);

  // Returns at most 4097 means, each of the same number of consecutive values except the last.
  std::vector<double> points() const;
  // Returns points() averaged to at most `columns` values.
  std::vector<double> points(int columns) const;
  // Returns the number of values added.
  std::int64_t count() const { return count_; }

 private:
  std::vector<double> points_;
  std::int64_t count_ = 0;
  std::int64_t values_per_point_ = 1;
  double sum_ = 0;  // sum of the values since the last point
  std::int64_t summed_ = 0;
};

}  // namespace headlight
