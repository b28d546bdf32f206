#include "cli/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace headlight::cli {
namespace {

constexpr std::array<const char*, 9> kEighths{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Means of consecutive parts of nearly equal length.
std::vector<double> resampled(const std::vector<double>& values, int width) {
  const auto columns = std::min(values.size(), static_cast<std::size_t>(width));
  std::vector<double> means;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * values.size() / columns;
    const std::size_t end = (column + 1) * values.size() / columns;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += values[i];
    }
    means.push_back(sum / static_cast<double>(end - begin));
  }
  return means;
}

std::string label(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%8.3f ", value);
  return text.data();
}

}  // namespace

std::string line_chart(const std::vector<double>& values, const ChartOptions& options) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double value) { return std::isfinite(value); });
  if (finite.empty()) {
    return "";
  }
  const std::vector<double> means = resampled(finite, options.width);
  const auto [least, largest] = std::minmax_element(means.begin(), means.end());
  const double low = std::isfinite(options.low) ? options.low : *least;
  const double high = std::isfinite(options.high) ? options.high : *largest;
  const double span = high > low ? high - low : 1.0;
  const int levels = 8 * options.height;
  std::string text;
  for (int line = options.height - 1; line >= 0; --line) {
    const bool ends = line == 0 || line == options.height - 1;
    text += ends ? label(line == 0 ? low : high) : std::string(9, ' ');
    text += "│";
    for (const double value : means) {
      const int level = 1 + static_cast<int>(std::lround((value - low) / span * (levels - 1)));
      text += kEighths[static_cast<std::size_t>(std::clamp(level - 8 * line, 0, 8))];
    }
    text += "\n";
  }
  text += std::string(9, ' ') + "└";
  for (std::size_t column = 0; column < means.size(); ++column) {
    text += "─";
  }
  return text + "\n" +
         (options.x_label.empty() ? "" : std::string(10, ' ') + options.x_label + "\n");
}

void ChartValues::add(double value) {
  constexpr std::size_t kMostPoints = 4096;
  ++count_;
  sum_ += value;
  if (++summed_ < values_per_point_) {
    return;
  }
  if (points_.size() == kMostPoints) {
    for (std::size_t i = 0; i < kMostPoints / 2; ++i) {
      points_[i] = (points_[2 * i] + points_[2 * i + 1]) / 2;
    }
    points_.resize(kMostPoints / 2);
    values_per_point_ *= 2;
    return;  // the sum is half of the first wider point
  }
  points_.push_back(sum_ / static_cast<double>(summed_));
  sum_ = 0;
  summed_ = 0;
}

std::vector<double> ChartValues::points() const {
  std::vector<double> points = points_;
  if (summed_ > 0) {
    points.push_back(sum_ / static_cast<double>(summed_));
  }
  return points;
}

}  // namespace headlight::cli
