#pragma once

#include <limits>
#include <string>
#include <vector>

namespace headlight::cli {

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

}  // namespace headlight::cli
