#include <algorithm>
#include <array>
#include <cmath>

#include "base/display_text.h"
#include "views/attention/attention_figure.h"
#include "views/plot/svg.h"

namespace headlight {
namespace {

constexpr Index kLabelledTokens = 64;  // beyond, labels would be too small to read
constexpr Index kLargestGrid = 256;    // cells per side of a panel
constexpr double kValueCell = 36.0;    // fits "0.87"
constexpr double kSmallestCell = 10.0;
constexpr double kPanelSide = 360.0;  // without labels
constexpr double kTickSize = 10.0;
constexpr double kLabelGap = 7.0;
constexpr double kAxisTitle = 20.0;
constexpr double kSlant = 0.7071;  // sine of 45 degrees
constexpr const char* kMutedInk = "#6b6f80";
constexpr const char* kInk = "#33364a";

double cell_size(Index tokens) {
  if (tokens <= kLinearScaleTokens) {
    return kValueCell;
  }
  return std::clamp(std::floor(480.0 / static_cast<double>(tokens)), kSmallestCell, 24.0);
}

// Distance between position ticks: 1, 2 or 5 times a power of ten, at most six ticks.
Index tick_step(Index tokens) {
  for (Index power = 1;; power *= 10) {
    for (const Index step : {power, 2 * power, 5 * power}) {
      if (tokens / step <= 6) {
        return step;
      }
    }
  }
}

void measure_labels(const std::vector<std::string>& tokens, PanelLayout& layout) {
  layout.label_size = layout.cell >= 16.0 ? 12.0 : layout.cell * 0.85;
  double widest = 0.0;
  for (const std::string& token : tokens) {
    layout.labels.push_back(shorten_text(display_label(token), 9.0));
    widest = std::max(widest, text_width(layout.labels.back()) * layout.label_size);
  }
  layout.key_labels = widest <= layout.cell       ? KeyLabels::flat
                      : layout.cell >= kValueCell ? KeyLabels::slanted
                                                  : KeyLabels::upright;
  const double below = layout.key_labels == KeyLabels::flat ? layout.label_size
                       : layout.key_labels == KeyLabels::slanted
                           ? (widest + layout.label_size) * kSlant
                           : widest;
  layout.left = widest + kLabelGap + kAxisTitle;
  layout.bottom = below + kLabelGap + kAxisTitle;
}

std::string text_element(double x, double y, const std::string& attributes,
                         const std::string& content) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\"" + attributes + ">" +
         escape_markup(content) + "</text>\n";
}

std::string turned(double degrees, double x, double y) {
  return " transform=\"rotate(" + svg_number(degrees) + " " + svg_number(x) + " " + svg_number(y) +
         ")\"";
}

std::string key_label(const PanelLayout& layout, double centre, const std::string& label) {
  const double below = layout.side + kLabelGap;
  const double third = layout.label_size / 3.0;  // from the middle of a line to its base
  switch (layout.key_labels) {
    case KeyLabels::slanted:
      return text_element(centre + third, below + third,
                          " text-anchor=\"end\"" + turned(-45.0, centre + third, below + third),
                          label);
    case KeyLabels::upright:
      return text_element(centre + third, below,
                          " text-anchor=\"end\"" + turned(-90.0, centre + third, below), label);
    case KeyLabels::flat:
      break;
  }
  return text_element(centre, below + layout.label_size * 0.75, " text-anchor=\"middle\"", label);
}

std::string token_labels(const PanelLayout& layout) {
  std::string out = "<g font-size=\"" + svg_number(layout.label_size) + "\" fill=\"" + kInk +
                    "\" xml:space=\"preserve\">\n";
  for (std::size_t i = 0; i < layout.labels.size(); ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * layout.cell;
    out += text_element(-kLabelGap, centre + layout.label_size * 0.35, " text-anchor=\"end\"",
                        layout.labels[i]);
    out += key_label(layout, centre, layout.labels[i]);
  }
  return out + "</g>\n";
}

std::string position_ticks(const PanelLayout& layout) {
  const double pixels = layout.side / static_cast<double>(layout.cells * layout.block);
  std::string marks;
  std::string out = "<g font-size=\"10\" fill=\"" + std::string(kMutedInk) + "\">\n";
  const Index step = tick_step(layout.tokens);
  for (Index position = 0; position < layout.tokens; position += step) {
    const double at = (static_cast<double>(position) + 0.5) * pixels;
    const std::string text = std::to_string(position);
    out += text_element(-kLabelGap, at + 3.5, " text-anchor=\"end\"", text);
    out += text_element(at, layout.side + kLabelGap + 8.0, " text-anchor=\"middle\"", text);
    marks +=
        "M-4 " + svg_number(at) + "h4M" + svg_number(at) + " " + svg_number(layout.side) + "v4";
  }
  return out + "</g>\n<path stroke=\"#c9cad3\" d=\"" + marks + "\"/>\n";
}

}  // namespace

PanelLayout layout_panels(const std::vector<std::string>& tokens) {
  PanelLayout layout;
  layout.tokens = static_cast<Index>(tokens.size());
  layout.block = (layout.tokens + kLargestGrid - 1) / kLargestGrid;
  layout.cells = (layout.tokens + layout.block - 1) / layout.block;
  layout.values = layout.tokens <= kLinearScaleTokens;
  layout.square_root = layout.tokens > kLinearScaleTokens;
  if (layout.tokens <= kLabelledTokens) {
    layout.cell = cell_size(layout.tokens);
    measure_labels(tokens, layout);
  } else {
    layout.cell = std::round(100.0 * kPanelSide / static_cast<double>(layout.cells)) / 100.0;
    layout.left = text_width(std::to_string(layout.tokens)) * kTickSize + kLabelGap + kAxisTitle;
    layout.bottom = kTickSize + kLabelGap + kAxisTitle;
  }
  layout.side = layout.cell * static_cast<double>(layout.cells);
  return layout;
}

std::string panel_axes(const PanelLayout& layout) {
  const std::string side = svg_number(layout.side);
  const std::string centred =
      " text-anchor=\"middle\" font-size=\"11\" fill=\"" + std::string(kMutedInk) + "\"";
  const bool labelled = !layout.labels.empty();
  std::string out = labelled ? token_labels(layout) : position_ticks(layout);
  out += "<path fill=\"none\" stroke=\"#c9cad3\" d=\"M0 0V" + side + "H" + side + "\"/>\n";
  const double x = -layout.left + 10.0;
  out += text_element(x, layout.side / 2.0, centred + turned(-90.0, x, layout.side / 2.0),
                      labelled ? "Query" : "Query position");
  out += text_element(layout.side / 2.0, layout.side + layout.bottom - 4.0, centred,
                      labelled ? "Key" : "Key position");
  return out;
}

}  // namespace headlight
