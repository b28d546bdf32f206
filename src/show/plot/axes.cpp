#include "show/plot/axes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "show/plot/svg.h"

namespace headlight {
namespace {

constexpr double kLeastLeft = 72.0;  // wide tick labels need more
constexpr double kLeastRight = 24.0;
constexpr double kAxisName = 28.0;  // room for the name of the vertical axis
constexpr double kTickGap = 8.0;

std::string tick_text(double value, double step) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.10g",
                std::abs(value) < step * 1e-6 ? 0.0 : std::round(value / step * 1e6) * step / 1e6);
  return text.data();
}

// Returns the width of the widest tick label of an axis.
double tick_width(const Axis& axis) {
  double widest = 0;
  for (double value = axis.low; value < axis.high + axis.step / 2; value += axis.step) {
    widest = std::max(widest, 11 * text_width(tick_text(value, axis.step)));
  }
  return widest;
}

}  // namespace

double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  const double digit = least / power;
  return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

Axis axis_for(Bounds range) {
  constexpr double kTicks = 6;
  // Ticks between values that differ only in their last bits would have equal numbers.
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  if (range.high - range.low <= 1e-12 * largest) {
    const double room = largest == 0 ? 1 : largest / 2;
    range = {range.low - room, range.high + room};
  }
  const double step = round_step((range.high - range.low) / kTicks);
  return {{std::floor(range.low / step + 1e-9) * step, std::ceil(range.high / step - 1e-9) * step},
          step};
}

double Frame::across(double value) const {
  return left + x.share(value) * (kAxesWidth - left - right);
}

double Frame::down(double value) const {
  return kAxesTop + (1 - y.share(value)) * (kAxesHeight - kAxesTop - kAxesBottom);
}

double left_margin(const Axis& y) {
  return std::max(kLeastLeft, kAxisName + tick_width(y) + kTickGap);
}

double right_margin(const Axis& x) { return std::max(kLeastRight, tick_width(x) / 2 + kTickGap); }

std::string axes_svg(const Frame& frame, const AxisNames& names) {
  const std::string small =
      std::string("font-size=\"11\" fill=\"") + kAxesFaint + "\" text-anchor=\"";
  const char* grid = "stroke=\"#e3e5ec\"";
  const double bottom = kAxesHeight - kAxesBottom;
  std::string out = svg_text(
      frame.left, 30, std::string("font-size=\"16\" font-weight=\"600\" fill=\"") + kAxesInk + "\"",
      shorten_bold(names.title, (kAxesWidth - frame.left) / 16));
  for (double x = frame.x.low; x < frame.x.high + frame.x.step / 2; x += frame.x.step) {
    out += svg_line(frame.across(x), kAxesTop, frame.across(x), bottom, grid);
    out += svg_text(frame.across(x), bottom + 18, small + "middle\"", tick_text(x, frame.x.step));
  }
  for (double y = frame.y.low; y < frame.y.high + frame.y.step / 2; y += frame.y.step) {
    out += svg_line(frame.left, frame.down(y), kAxesWidth - frame.right, frame.down(y), grid);
    out += svg_text(frame.left - kTickGap, frame.down(y) + 4, small + "end\"",
                    tick_text(y, frame.y.step));
  }
  const std::string name =
      std::string("font-size=\"12\" fill=\"") + kAxesInk + "\" text-anchor=\"middle\"";
  out += svg_text((frame.left + kAxesWidth - frame.right) / 2, kAxesHeight - 14, name, names.x);
  const double middle = (kAxesTop + bottom) / 2;
  return out + svg_text(18, middle,
                        name + " transform=\"rotate(-90 18 " + svg_number(middle) + ")\"", names.y);
}

}  // namespace headlight
