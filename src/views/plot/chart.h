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
  // The range of the curve, for charts that are to be compared; NaN: that of the values.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

// A curve of block characters with the range on its left, for terminals; the values are averaged
// to fit the width. Values that are not finite are left out; "" when none is left.
std::string line_chart(const std::vector<double>& values, const ChartOptions& options = {});

// A curve among others.
struct ChartSeries {
  std::vector<double> x;
  std::vector<double> y;  // as many
  char mark = '*';        // where there are no colours, and of points
  int colour = 0;         // place in the palette
  bool points = false;    // marks at the values, instead of the line that joins them
};

struct SeriesChartOptions {
  int width = 70;  // columns of the curves
  int height = 16;
  bool colours = false;  // lines of dots in colours; otherwise of marks
  double y_high = std::numeric_limits<double>::infinity();  // what is higher is cut off
  std::string x_label = {};
  std::function<std::string(double)> x_text = {};  // of a tick; empty: a whole number
};

// Several curves over common axes, for terminals; later ones lie above earlier ones. "" when there
// is no finite value.
std::string series_chart(const std::vector<ChartSeries>& series,
                         const SeriesChartOptions& options = {});

// `text` in the colour of a series.
std::string in_series_colour(const std::string& text, int colour);

// The values of a chart that may go on for days, in memory that does not grow: when there are too
// many, neighbours become their mean, and every point stands for twice as many values from then on.
class ChartValues {
 public:
  void add(double value);

  // Means of equally many consecutive values, but for the last, in some thousand points at most.
  std::vector<double> points() const;
  // Values that were added.
  std::int64_t count() const { return count_; }

 private:
  std::vector<double> points_;
  std::int64_t count_ = 0;
  std::int64_t values_per_point_ = 1;
  double sum_ = 0;  // of the values since the last point
  std::int64_t summed_ = 0;
};

}  // namespace headlight
