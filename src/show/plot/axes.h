#pragma once

#include <string>

#include "show/plot/bounds.h"

// Axes of figures with curves or points. Lengths are in SVG user units (pixels at 100 %).
namespace headlight {

inline constexpr double kAxesWidth = 640.0;
inline constexpr double kAxesHeight = 380.0;
inline constexpr double kAxesTop = 52.0;
inline constexpr double kAxesBottom = 56.0;
inline constexpr const char* kAxesInk = "#1d2030";
inline constexpr const char* kAxesFaint = "#6b6f80";

// Returns the smallest step that is at least `least` (above 0): 1, 2 or 5 times a power of ten.
// ticksBetween() of src/show/page/heat_map_layout.js has the same rule.
double round_step(double least);

// Axis with ticks every `step`, of round_step(). Both bounds are ticks.
struct Axis : Bounds {
  double step = 1;
};

// Returns the shortest axis of about six ticks that holds the range.
Axis axis_for(Bounds range);

// Plot area between its margins.
struct Frame {
  Axis x;
  Axis y;
  double left;
  double right;

  // Returns the position of a value in the figure.
  double across(double value) const;
  double down(double value) const;
};

// Returns the margins that the labels of the axes need.
double left_margin(const Axis& y);
double right_margin(const Axis& x);

struct AxisNames {
  std::string title = {};
  std::string x = {};
  std::string y = {};
};

// Returns the title, the grid, the ticks and the names of the axes.
std::string axes_svg(const Frame& frame, const AxisNames& names);

}  // namespace headlight
