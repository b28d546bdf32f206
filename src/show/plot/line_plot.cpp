#include "headlight/show/plot/line_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings/display_text.h"
#include "headlight/base/error.h"
#include "headlight/base/index.h"
#include "show/plot/axes.h"
#include "show/plot/svg.h"

namespace headlight {
namespace {

constexpr const char* kFaintCurve = "#c3c6d1";

constexpr std::array<const char*, 8> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#e69f00", "#56b4e9", "#000000", "#b8a800"};

constexpr double kLegendLine = 18.0;

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
  constexpr Index kSamples = 16;
  Index count = 0;
  for (const PlotSeries& series : plot.series) {
    for (std::size_t i = 1; i < series.x.size(); ++i) {
      for (Index index = 0; index <= kSamples; ++index) {
        const double share = static_cast<double>(index) / kSamples;
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
  const double right = kAxesWidth - frame.right - width - kRoom;
  const double bottom = kAxesHeight - kAxesBottom - height - kRoom;
  const double left = frame.left + kRoom;
  const double top = kAxesTop + kRoom;
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
    out += svg_text(left + 26, y, std::string("font-size=\"11\" fill=\"") + kAxesInk + "\"",
                    entry.name);
    y += kLegendLine;
  }
  return out;
}

std::string marks(const LinePlot& plot, const Frame& frame) {
  std::string out;
  for (const double x : plot.marks) {
    if (x >= frame.x.low && x <= frame.x.high) {
      out += svg_line(frame.across(x), kAxesTop, frame.across(x), kAxesHeight - kAxesBottom,
                      std::string("stroke=\"") + kAxesFaint + "\" stroke-dasharray=\"4 4\"");
    }
  }
  return out;
}

// Clips the curves at the top of the plot area.
std::string clipped(const std::string& curves) {
  return "<clipPath id=\"axes\"><rect x=\"0\" y=\"" + svg_number(kAxesTop) + "\" width=\"" +
         svg_number(kAxesWidth) + "\" height=\"" + svg_number(kAxesHeight - kAxesTop) +
         "\"/></clipPath>\n<g clip-path=\"url(#axes)\">\n" + curves + "</g>\n";
}

// Returns the elements of one plot. Faint curves are drawn below the others.
std::string panel(const LinePlot& plot, const Frame& frame) {
  std::string out = axes_svg(frame, {.title = plot.title, .x = plot.x_label, .y = plot.y_label}) +
                    marks(plot, frame);
  std::string curves;
  std::vector<NamedColour> named;
  std::size_t next = 0;  // palette index of the next series without a colour
  for (const PlotSeries& series : plot.series) {
    if (series.faint) {
      out += curve(series, frame, kFaintCurve, plot.points);
      continue;
    }
    const std::size_t index = series.colour >= 0 ? static_cast<std::size_t>(series.colour) : next++;
    const char* colour = kColours[index % kColours.size()];
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
  double left = 0;
  for (const Axis& axis : up) {
    left = std::max(left, left_margin(axis));
  }
  const double right = right_margin(x);
  std::string out =
      svg_start(kAxesWidth, kAxesHeight * static_cast<double>(plots.size()), plots.front().title);
  for (std::size_t i = 0; i < plots.size(); ++i) {
    const Frame frame{x, up[i], left, right};
    const std::string shift = svg_number(kAxesHeight * static_cast<double>(i));
    out += i == 0 ? panel(plots[i], frame)
                  : "<g transform=\"translate(0 " + shift + ")\">\n" + panel(plots[i], frame) +
                        "</g>\n";
  }
  return out + "</svg>\n";
}

std::string line_plot_svg(const LinePlot& plot) { return line_panels_svg({plot}); }

}  // namespace headlight
