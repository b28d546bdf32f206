#include "headlight/show/plot/scatter_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings/display_text.h"
#include "headlight/base/error.h"
#include "headlight/interpret/effects/importance.h"
#include "show/plot/axes.h"
#include "show/plot/svg.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

constexpr std::size_t kPointLabels = 12;
constexpr double kPointSize = 3.5;
constexpr double kPointLabel = 11.0;  // font size
constexpr const char* kPointColour = "#0072b2";

std::vector<ScatterPoint> finite_points(const ScatterPlot& plot) {
  std::vector<ScatterPoint> points;
  std::ranges::copy_if(plot.points, std::back_inserter(points), [](const ScatterPoint& point) {
    return std::isfinite(point.x) && std::isfinite(point.y);
  });
  require(!points.empty(), "[scatter_plot_svg] expected at least one finite point");
  return points;
}

// Returns "270 points, r = 0.93".
std::string points_summary(const std::vector<ScatterPoint>& points) {
  std::vector<double> x;
  std::vector<double> y;
  double mean_x = 0;
  double mean_y = 0;
  const auto count = static_cast<double>(points.size());
  for (const ScatterPoint& point : points) {
    x.push_back(point.x);
    y.push_back(point.y);
    mean_x += point.x / count;
    mean_y += point.y / count;
  }
  const double r = correlation(x, mean_x, y, mean_y);
  return counted(std::ssize(points), "point") +
         (std::isfinite(r) ? ", r = " + fixed_number(r, 2) : "");
}

Frame frame_of(const std::vector<ScatterPoint>& points, bool has_diagonal) {
  Bounds across;
  Bounds up;
  for (const ScatterPoint& point : points) {
    across.include(point.x);
    up.include(point.y);
  }
  if (has_diagonal) {
    across.include(up.low);
    across.include(up.high);
    up = across;
  }
  const Axis x = axis_for(across);
  const Axis y = axis_for(up);
  return {x, y, left_margin(y), right_margin(x)};
}

std::string diagonal(const Frame& frame) {
  const double low = std::max(frame.x.low, frame.y.low);
  const double high = std::min(frame.x.high, frame.y.high);
  return svg_line(frame.across(low), frame.down(low), frame.across(high), frame.down(high),
                  std::string("stroke=\"") + kAxesFaint + "\" stroke-dasharray=\"4 4\"");
}

// Rectangle of a label, with its baseline at the bottom.
struct LabelBox {
  double left;
  double right;
  double bottom;

  bool overlaps(const LabelBox& other) const {
    return left < other.right && other.left < right &&
           std::abs(bottom - other.bottom) < kPointLabel;
  }
  // True if it covers a part of a point's circle.
  bool covers(double x, double y) const {
    return x + kPointSize > left && x - kPointSize < right &&
           y + kPointSize > bottom - 0.8 * kPointLabel && y - kPointSize < bottom + 2;
  }
};

// Returns the boxes for a label of this width beside, above and below a point.
std::array<LabelBox, 4> label_boxes(double x, double y, double width) {
  const double gap = kPointSize + 2.5;
  return {{{x + gap, x + gap + width, y + 4},
           {x - gap - width, x - gap, y + 4},
           {x - width / 2, x + width / 2, y - gap},
           {x - width / 2, x + width / 2, y + gap + kPointLabel * 0.75}}};
}

// True if a label in the box stays in the plot area and covers neither labels nor points.
bool is_free(const LabelBox& box, const std::vector<LabelBox>& taken,
             const std::vector<ScatterPoint>& points, const Frame& frame) {
  return box.left >= frame.left && box.right <= kAxesWidth - frame.right &&
         std::ranges::none_of(taken, [&](const LabelBox& other) { return box.overlaps(other); }) &&
         std::ranges::none_of(points, [&](const ScatterPoint& point) {
           return box.covers(frame.across(point.x), frame.down(point.y));
         });
}

// Returns the labels of the points farthest from the middle that have a free position.
std::string point_labels(const std::vector<ScatterPoint>& points, const Frame& frame) {
  Bounds across;
  Bounds up;
  double mean_x = 0;
  double mean_y = 0;
  for (const ScatterPoint& point : points) {
    across.include(point.x);
    up.include(point.y);
    mean_x += point.x / static_cast<double>(points.size());
    mean_y += point.y / static_cast<double>(points.size());
  }
  const auto distance = [&](const ScatterPoint& point) {
    return std::hypot(across.share(point.x) - across.share(mean_x),
                      up.share(point.y) - up.share(mean_y));
  };
  std::vector<ScatterPoint> order = points;
  std::ranges::stable_sort(order, std::ranges::greater(), distance);
  order.resize(std::min(order.size(), kPointLabels));
  std::vector<LabelBox> taken;
  std::string out;
  for (const ScatterPoint& point : order) {
    const std::string label = shorten_text(printable_text(point.name), 16);
    const double width = kPointLabel * text_width(label);
    const auto boxes = label_boxes(frame.across(point.x), frame.down(point.y), width);
    const auto box = std::ranges::find_if(boxes, [&](const LabelBox& one) {
      return !label.empty() && is_free(one, taken, points, frame);
    });
    if (box != boxes.end()) {
      taken.push_back(*box);
      out += svg_text(box->left, box->bottom,
                      std::string("font-size=\"11\" fill=\"") + kAxesInk + "\"", label);
    }
  }
  return out;
}

}  // namespace

std::string scatter_plot_svg(const ScatterPlot& plot) {
  const std::vector<ScatterPoint> points = finite_points(plot);
  const Frame frame = frame_of(points, plot.has_diagonal);
  std::string out =
      svg_start(kAxesWidth, kAxesHeight, plot.title) +
      axes_svg(frame, {.title = plot.title, .x = plot.x_label, .y = plot.y_label}) +
      svg_text(frame.left, 45, std::string("font-size=\"11\" fill=\"") + kAxesFaint + "\"",
               points_summary(points)) +
      (plot.has_diagonal ? diagonal(frame) : "");
  for (const ScatterPoint& point : points) {
    out += "<circle cx=\"" + svg_number(frame.across(point.x)) + "\" cy=\"" +
           svg_number(frame.down(point.y)) + "\" r=\"" + svg_number(kPointSize) + "\" fill=\"" +
           kPointColour + "\" fill-opacity=\"0.6\"><title>" +
           escape_markup(printable_text(point.name)) + ": " + fixed_number(point.x, 4) + ", " +
           fixed_number(point.y, 4) + "</title></circle>\n";
  }
  return out + point_labels(points, frame) + "</svg>\n";
}

}  // namespace headlight
