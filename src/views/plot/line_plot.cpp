#include "headlight/views/plot/line_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/display_text.h"
#include "headlight/base/error.h"
#include "headlight/base/index.h"
#include "views/plot/bounds.h"
#include "views/plot/svg.h"

namespace headlight {
namespace {

constexpr double kWidth = 640.0;
constexpr double kHeight = 380.0;
constexpr double kLeft = 72.0;      // least left margin; wide tick labels need more
constexpr double kAxisName = 28.0;  // room for the name of the vertical axis
constexpr double kTickGap = 8.0;
constexpr double kTop = 52.0;
constexpr double kBottom = 56.0;
constexpr double kRight = 24.0;
constexpr double kLegendLine = 18.0;
constexpr const char* kInk = "#1d2030";
constexpr const char* kFaint = "#6b6f80";
constexpr const char* kFaintCurve = "#c3c6d1";

constexpr std::array<const char*, 8> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#e69f00", "#56b4e9", "#000000", "#b8a800"};

// Axis with ticks every `step`: 1, 2 or 5 times a power of ten. Both bounds are ticks.
struct Axis : Bounds {
  double step = 1;
};

Axis axis_for(Bounds range) {
  constexpr double kTicks = 6;
  if (range.low == range.high) {
    const double room = range.low == 0 ? 1 : std::abs(range.low) / 2;
    range = {range.low - room, range.high + room};
  }
  const double rough = (range.high - range.low) / kTicks;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double digit = rough / power;
  const double step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  return {{std::floor(range.low / step + 1e-9) * step, std::ceil(range.high / step - 1e-9) * step},
          step};
}

std::string tick_text(double value, double step) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.10g",
                std::abs(value) < step * 1e-6 ? 0.0 : std::round(value / step * 1e6) * step / 1e6);
  return text.data();
}

// Returns the width of the widest tick label of an axis.
double label_width(const Axis& axis) {
  double widest = 0;
  for (double value = axis.low; value < axis.high + axis.step / 2; value += axis.step) {
    widest = std::max(widest, 11 * text_width(tick_text(value, axis.step)));
  }
  return widest;
}

struct Frame {
  Axis x;
  Axis y;
  double left;
  double right;

  double across(double value) const { return left + x.share(value) * (kWidth - left - right); }
  double down(double value) const {
    return kTop + (1 - y.share(value)) * (kHeight - kTop - kBottom);
  }
};

// Ranges of the finite values of a plot.
struct Span {
  Bounds across;
  Bounds up;
};

Span span_of(const LinePlot& plot) {
  Span span;
  for (const PlotSeries& series : plot.series) {
    require(series.x.size() == series.y.size(), "[line_plot_svg] series '", series.name, "' has ",
            series.x.size(), " values of x and ", series.y.size(), " of y");
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (std::isfinite(series.x[i]) && std::isfinite(series.y[i])) {
        span.across.include(series.x[i]);
        span.up.include(std::min(series.y[i], plot.y_high));
      }
    }
  }
  require(span.across.low <= span.across.high,
          "[line_plot_svg] expected at least one finite value");
  if (plot.y_from_zero) {
    span.up.include(0);
  }
  return span;
}

std::string axes(const Frame& frame, const LinePlot& plot) {
  const std::string small = std::string("font-size=\"11\" fill=\"") + kFaint + "\" text-anchor=\"";
  const char* grid = "stroke=\"#e3e5ec\"";
  const double bottom = kHeight - kBottom;
  std::string out;
  for (double x = frame.x.low; x < frame.x.high + frame.x.step / 2; x += frame.x.step) {
    out += svg_line(frame.across(x), kTop, frame.across(x), bottom, grid);
    out += svg_text(frame.across(x), bottom + 18, small + "middle\"", tick_text(x, frame.x.step));
  }
  for (double y = frame.y.low; y < frame.y.high + frame.y.step / 2; y += frame.y.step) {
    out += svg_line(frame.left, frame.down(y), kWidth - frame.right, frame.down(y), grid);
    out += svg_text(frame.left - kTickGap, frame.down(y) + 4, small + "end\"",
                    tick_text(y, frame.y.step));
  }
  const std::string name =
      std::string("font-size=\"12\" fill=\"") + kInk + "\" text-anchor=\"middle\"";
  out += svg_text((frame.left + kWidth - frame.right) / 2, kHeight - 14, name, plot.x_label);
  const double middle = (kTop + bottom) / 2;
  return out + svg_text(18, middle,
                        name + " transform=\"rotate(-90 18 " + svg_number(middle) + ")\"",
                        plot.y_label);
}

std::string curve(const PlotSeries& series, const Frame& frame, const std::string& colour,
                  bool points) {
  std::string path;
  std::string dots;
  bool pen_down = false;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) {
      pen_down = false;
      continue;
    }
    const std::string x = svg_number(frame.across(series.x[i]));
    const std::string y = svg_number(frame.down(series.y[i]));
    path += (pen_down ? "L" : "M") + x + " " + y;
    pen_down = true;
    if (points || series.points) {
      dots += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"3\" fill=\"" + colour + "\"/>\n";
    }
  }
  return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" +
         (series.faint || series.thin ? "1" : "2") + "\" stroke-linejoin=\"round\"/>\n" + dots;
}

struct NamedColour {
  std::string name;
  const char* colour;
};

struct Box {
  double left;
  double top;
  double width;
  double height;

  bool holds(double x, double y) const {
    return x >= left && x <= left + width && y >= top && y <= top + height;
  }
};

// Returns how many of the sampled points of the curves (17 a segment) are inside a box.
Index covered(const LinePlot& plot, const Frame& frame, const Box& box) {
  constexpr Index kPlaces = 16;
  Index count = 0;
  for (const PlotSeries& series : plot.series) {
    for (std::size_t i = 1; i < series.x.size(); ++i) {
      for (Index place = 0; place <= kPlaces; ++place) {
        const double share = static_cast<double>(place) / kPlaces;
        const double x = series.x[i - 1] + share * (series.x[i] - series.x[i - 1]);
        const double y = series.y[i - 1] + share * (series.y[i] - series.y[i - 1]);
        count += box.holds(frame.across(x), frame.down(y)) ? 1 : 0;
      }
    }
  }
  return count;
}

// Returns the corner where a legend hides the least of the curves. Upper corners win ties.
Box emptiest_corner(const LinePlot& plot, const Frame& frame, double width, double height) {
  constexpr double kRoom = 8;
  const double right = kWidth - frame.right - width - kRoom;
  const double bottom = kHeight - kBottom - height - kRoom;
  const double left = frame.left + kRoom;
  const double top = kTop + kRoom;
  const std::array<Box, 4> corners{{{right, top, width, height},
                                    {left, top, width, height},
                                    {right, bottom, width, height},
                                    {left, bottom, width, height}}};
  return *std::ranges::min_element(corners, {},
                                   [&](const Box& box) { return covered(plot, frame, box); });
}

std::string legend(const std::vector<NamedColour>& entries, const LinePlot& plot,
                   const Frame& frame) {
  double widest = 0;
  for (const NamedColour& entry : entries) {
    widest = std::max(widest, 11 * text_width(printable_text(entry.name)));
  }
  const Box box = emptiest_corner(plot, frame, widest + 34,
                                  kLegendLine * static_cast<double>(entries.size()) + 4);
  std::string out = "<rect x=\"" + svg_number(box.left) + "\" y=\"" + svg_number(box.top) +
                    "\" width=\"" + svg_number(box.width) + "\" height=\"" +
                    svg_number(box.height) + "\" fill=\"#fff\" fill-opacity=\"0.85\"/>\n";
  const double left = box.left + 4;
  double y = box.top + 15;
  for (const NamedColour& entry : entries) {
    out += svg_line(left, y - 4, left + 20, y - 4,
                    std::string("stroke=\"") + entry.colour + "\" stroke-width=\"3\"");
    out +=
        svg_text(left + 26, y, std::string("font-size=\"11\" fill=\"") + kInk + "\"", entry.name);
    y += kLegendLine;
  }
  return out;
}

std::string marks(const LinePlot& plot, const Frame& frame) {
  std::string out;
  for (const double x : plot.marks) {
    if (x >= frame.x.low && x <= frame.x.high) {
      out += svg_line(frame.across(x), kTop, frame.across(x), kHeight - kBottom,
                      std::string("stroke=\"") + kFaint + "\" stroke-dasharray=\"4 4\"");
    }
  }
  return out;
}

// Clips the curves at the top of the plot area.
std::string clipped(const std::string& curves) {
  return "<clipPath id=\"axes\"><rect x=\"0\" y=\"" + svg_number(kTop) + "\" width=\"" +
         svg_number(kWidth) + "\" height=\"" + svg_number(kHeight - kTop) +
         "\"/></clipPath>\n<g clip-path=\"url(#axes)\">\n" + curves + "</g>\n";
}

// Returns the elements of one plot. Faint curves are drawn below the others.
std::string panel(const LinePlot& plot, const Frame& frame) {
  std::string out =
      svg_text(frame.left, 30,
               std::string("font-size=\"16\" font-weight=\"600\" fill=\"") + kInk + "\"",
               plot.title) +
      axes(frame, plot) + marks(plot, frame);
  std::string curves;
  std::vector<NamedColour> named;
  std::size_t next = 0;  // palette index of the next series without a colour
  for (const PlotSeries& series : plot.series) {
    if (series.faint) {
      out += curve(series, frame, kFaintCurve, plot.points);
      continue;
    }
    const std::size_t place = series.colour >= 0 ? static_cast<std::size_t>(series.colour) : next++;
    const char* colour = kColours[place % kColours.size()];
    curves += curve(series, frame, colour, plot.points);
    if (!series.name.empty()) {
      named.push_back({series.name, colour});
    }
  }
  if (std::isfinite(plot.y_high)) {
    curves = clipped(curves);
  }
  return out + curves +
         (plot.series.size() > 1 && !named.empty() ? legend(named, plot, frame) : "");
}

}  // namespace

std::string line_panels_svg(const std::vector<LinePlot>& plots, bool same_y) {
  require(!plots.empty(), "[line_panels_svg] expected at least one plot");
  Bounds across;
  Bounds all;
  std::vector<Axis> up;
  for (const LinePlot& plot : plots) {
    const Span span = span_of(plot);
    across.include(span.across.low);
    across.include(span.across.high);
    all.include(span.up.low);
    all.include(span.up.high);
    up.push_back(axis_for(span.up));
  }
  if (same_y) {
    std::ranges::fill(up, axis_for(all));
  }
  const Axis x = axis_for(across);
  double left = kLeft;
  for (const Axis& axis : up) {
    left = std::max(left, kAxisName + label_width(axis) + kTickGap);
  }
  const double right = std::max(kRight, label_width(x) / 2 + kTickGap);
  std::string out =
      svg_start(kWidth, kHeight * static_cast<double>(plots.size()), plots.front().title);
  for (std::size_t i = 0; i < plots.size(); ++i) {
    const Frame frame{x, up[i], left, right};
    const std::string shift = svg_number(kHeight * static_cast<double>(i));
    out += i == 0 ? panel(plots[i], frame)
                  : "<g transform=\"translate(0 " + shift + ")\">\n" + panel(plots[i], frame) +
                        "</g>\n";
  }
  return out + "</svg>\n";
}

std::string line_plot_svg(const LinePlot& plot) { return line_panels_svg({plot}); }

}  // namespace headlight
