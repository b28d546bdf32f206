#include "show/plot/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "show/plot/bounds.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/terminal_text.h"

namespace headlight {
namespace {

constexpr std::array<const char*, 9> kEighths{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Returns the means of at most `width` consecutive parts of nearly equal length.
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

std::string label(double value) { return pad_left(fixed_number(value, 3), 8) + " "; }

// Colours of a 256-colour terminal that suit dark and light backgrounds.
constexpr std::array kSeriesColours{33, 208, 35, 170, 178, 45, 99, 203};

// Canvas of Braille characters, 2 x 4 dots a cell. A cell belongs to the last series drawn in it.
class DotCanvas {
 public:
  DotCanvas(int width, int height)
      : width_(width), height_(height), cells_(static_cast<std::size_t>(width * height)) {}

  // Coordinates are in [0, 1] with (0, 0) at the lower left; points outside are not drawn.
  void line(double x1, double y1, double x2, double y2, const ChartSeries& series) {
    constexpr double kMostSteps = 10'000;  // bounds the work for lines far outside the canvas
    const double dots = std::max(std::abs(x2 - x1) * 2 * width_, std::abs(y2 - y1) * 4 * height_);
    const double steps = std::min(std::ceil(dots) + 1, kMostSteps);
    for (double step = 0; step <= steps; ++step) {
      const double share = step / steps;
      dot(x1 + share * (x2 - x1), y1 + share * (y2 - y1), series);
    }
  }

  void mark(double x, double y, const ChartSeries& series) {
    if (Cell* cell = dot(x, y, series)) {
      cell->marked = true;
    }
  }

  std::string row(int line, bool colours) const {
    std::string text;
    for (int column = 0; column < width_; ++column) {
      const Cell& cell = cells_[static_cast<std::size_t>(line * width_ + column)];
      if (cell.series == nullptr) {
        text += " ";
      } else if (!colours) {
        text += cell.series->mark;
      } else {
        text +=
            in_series_colour(cell.marked ? std::string(1, cell.series->mark) : braille(cell.dots),
                             cell.series->colour);
      }
    }
    return text;
  }

 private:
  struct Cell {
    const ChartSeries* series = nullptr;
    unsigned dots = 0;
    bool marked = false;
  };

  Cell* dot(double x, double y, const ChartSeries& series) {
    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) {
      return nullptr;
    }
    const int across = std::min(static_cast<int>(x * 2 * width_), 2 * width_ - 1);
    const int down = std::min(static_cast<int>((1 - y) * 4 * height_), 4 * height_ - 1);
    Cell& cell = cells_[static_cast<std::size_t>(down / 4 * width_ + across / 2)];
    if (cell.series != &series) {
      cell = {.series = &series};
    }
    constexpr std::array<std::array<unsigned, 2>, 4> kBits{
        {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    cell.dots |= kBits[static_cast<std::size_t>(down % 4)][static_cast<std::size_t>(across % 2)];
    return &cell;
  }

  // Returns U+2800 + dots as UTF-8.
  static std::string braille(unsigned dots) {
    return {'\xE2', static_cast<char>(0xA0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3F))};
  }

  int width_;
  int height_;
  std::vector<Cell> cells_;
};

void draw(const ChartSeries& series, const Bounds& across, const Bounds& up, DotCanvas& canvas) {
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const double x = across.share(series.x[i]);
    const double y = up.share(series.y[i]);
    if (series.points || series.x.size() == 1) {
      canvas.mark(x, y, series);
    } else if (i > 0) {
      canvas.line(across.share(series.x[i - 1]), up.share(series.y[i - 1]), x, y, series);
    }
  }
}

// Returns the axis below a chart: a line, the tick labels (may be empty) and the axis name.
std::string bottom_axis(std::size_t columns, const std::string& ticks, const std::string& name) {
  std::string text = std::string(9, ' ') + "└";
  for (std::size_t column = 0; column < columns; ++column) {
    text += "─";
  }
  return text + "\n" + ticks + (name.empty() ? "" : std::string(10, ' ') + name + "\n");
}

// Returns the tick labels at the start, the middle and the end of the x axis.
std::string x_ticks(const Bounds& across, const SeriesChartOptions& options) {
  const auto text = [&](double value) {
    return options.x_text ? options.x_text(value) : std::to_string(std::llround(value));
  };
  const std::string begin = text(across.low);
  const std::string middle = text(across.at(0.5));
  const std::string end = text(across.high);
  const auto width = static_cast<std::size_t>(options.width);
  std::string line(10 + width, ' ');
  line.replace(10, begin.size(), begin);
  if (begin.size() + middle.size() + end.size() + 4 < width) {
    line.replace(10 + (width - middle.size()) / 2, middle.size(), middle);
  }
  line.replace(10 + width - std::min(end.size(), width), end.size(), end);
  return line + "\n";
}

}  // namespace

std::string in_series_colour(const std::string& text, int colour) {
  const int code = kSeriesColours[static_cast<std::size_t>(colour) % kSeriesColours.size()];
  return "\x1B[38;5;" + std::to_string(code) + "m" + text + kStyleEnd;
}

std::string series_chart(const std::vector<ChartSeries>& series,
                         const SeriesChartOptions& options) {
  Bounds across;
  Bounds up;
  for (const ChartSeries& one : series) {
    for (std::size_t i = 0; i < one.x.size(); ++i) {
      if (std::isfinite(one.x[i]) && std::isfinite(one.y[i])) {
        across.include(one.x[i]);
        up.include(std::min(one.y[i], options.y_high));
      }
    }
  }
  if (!(across.low <= across.high)) {
    return "";
  }
  DotCanvas canvas(options.width, options.height);
  for (const bool points : {false, true}) {  // draw points over all lines
    for (const ChartSeries& one : series) {
      if (one.points == points) {
        draw(one, across, up, canvas);
      }
    }
  }
  constexpr int kLinesOfTick = 4;
  std::string text;
  for (int line = 0; line < options.height; ++line) {
    const double share = 1 - (line + 0.5) / options.height;
    const bool tick = line % kLinesOfTick == 0 || line + 1 == options.height;
    text += tick ? label(up.at(share)) + "┤" : std::string(9, ' ') + "│";
    text += canvas.row(line, options.colours) + "\n";
  }
  return text + bottom_axis(static_cast<std::size_t>(options.width), x_ticks(across, options),
                            options.x_label);
}

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
  return text + bottom_axis(means.size(), "", options.x_label);
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
    return;  // sum_ already holds half of the next, wider point
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

std::vector<double> ChartValues::points(int columns) const { return resampled(points(), columns); }

}  // namespace headlight
