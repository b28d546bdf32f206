#include "headlight/show/plot/matrix_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/strings/display_text.h"
#include "headlight/base/error.h"
#include "show/plot/colour_scale.h"
#include "show/plot/svg.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

constexpr double kPlotMargin = 24.0;
constexpr double kTitleHeight = 48.0;  // the title
constexpr double kNote = 18.0;         // a line of the note
constexpr double kLabels = 36.0;       // column title and horizontal column labels
constexpr double kLabelSize = 11.0;
constexpr double kGap = 2.0;

// Layout of the cells.
struct Cells {
  double left;
  double top;
  double width;
  double height;
  bool with_text;  // cells show values or texts
  bool upright;    // column labels are vertical

  double x(std::size_t column) const { return left + static_cast<double>(column) * (width + kGap); }
  double y(std::size_t row) const { return top + static_cast<double>(row) * (height + kGap); }
};

double label_width(const std::string& label) {
  return kLabelSize * text_width(printable_text(label));
}

double widest_label(const std::vector<std::string>& labels) {
  double widest = 0;
  for (const std::string& label : labels) {
    widest = std::max(widest, label_width(label));
  }
  return widest;
}

void check(const MatrixPlot& plot) {
  constexpr std::size_t kMost = 1024;
  require(!plot.rows.empty() && !plot.columns.empty() && plot.rows.size() <= kMost &&
              plot.columns.size() <= kMost,
          "[matrix_plot_svg] expected 1 to ", kMost, " rows and columns, got ", plot.rows.size(),
          " and ", plot.columns.size());
  require(plot.values.size() == plot.rows.size() * plot.columns.size(),
          "[matrix_plot_svg] expected ", plot.rows.size() * plot.columns.size(), " values, got ",
          plot.values.size());
  require(plot.texts.empty() || plot.texts.size() == plot.values.size(),
          "[matrix_plot_svg] expected ", plot.values.size(), " texts, got ", plot.texts.size());
  require(plot.lows.size() == plot.highs.size() &&
              (plot.lows.empty() || plot.lows.size() == plot.values.size()),
          "[matrix_plot_svg] expected ", plot.values.size(), " intervals, got ", plot.lows.size(),
          " and ", plot.highs.size(), " ends");
}

Cells cells_for(const MatrixPlot& plot) {
  const bool with_text = !plot.texts.empty() || plot.columns.size() <= 16;
  const double width = !plot.texts.empty() ? 72.0 : with_text ? 52.0 : 18.0;
  const double widest = widest_label(plot.columns);
  const bool upright = widest > width;
  const double row_labels =
      std::max(widest_label(plot.rows), label_width(plot.row_title + " ↓") - 24);
  return {.left = kPlotMargin + 24 + row_labels + 8,
          .top = kTitleHeight + (plot.note.empty() ? 0 : kNote) + kLabels + (upright ? widest : 0),
          .width = width,
          .height = !plot.texts.empty() ? 24.0
                    : with_text         ? 30.0
                                        : 18.0,
          .with_text = with_text,
          .upright = upright};
}

double limit_of(const MatrixPlot& plot) {
  double largest = plot.limit;
  for (const double value : plot.values) {
    if (plot.limit == 0 && std::isfinite(value)) {
      largest = std::max(largest, std::abs(value));
    }
  }
  return largest > 0 ? largest : 1;
}

std::string value_text(double value, double limit) {
  const int decimals = limit >= 100 ? 0 : limit >= 10 ? 1 : 2;
  const double step = decimals == 0 ? 1 : decimals == 1 ? 0.1 : 0.01;
  const bool rounds_to_zero = std::abs(value) < step / 2;  // could print as -0.0
  return fixed_number(rounds_to_zero ? 0.0 : value, decimals);
}

// Returns the text of a cell.
std::string cell_text(const MatrixPlot& plot, std::size_t index, double width, double limit) {
  const std::string doubt = plot.doubtful ? "?" : "";
  return plot.texts.empty()
             ? value_text(plot.values[index], limit) + doubt
             : shorten_text(printable_text(plot.texts[index]), width / kLabelSize) + doubt;
}

std::string cell(const MatrixPlot& plot, const Cells& cells, std::size_t row, std::size_t column,
                 double limit) {
  const std::size_t index = row * plot.columns.size() + column;
  const double value = plot.values[index];
  if (!std::isfinite(value)) {
    return "";
  }
  constexpr double kDoubtful = 0.3;
  const Colour colour = diverging_colour((plot.doubtful ? kDoubtful * value : value) / limit);
  std::array<char, 96> shown;
  if (plot.lows.empty()) {
    std::snprintf(shown.data(), shown.size(), "%.6g", value);
  } else {
    std::snprintf(shown.data(), shown.size(), "%.6g (%.6g to %.6g)", value, plot.lows[index],
                  plot.highs[index]);
  }
  std::string out =
      "<g><title>" + escape_markup(printable_text(plot.rows[row])) +
      (plot.columns[column].empty() ? "" : ", ") +
      escape_markup(printable_text(plot.columns[column])) + ": " + shown.data() +
      (plot.texts.empty() ? "" : ", " + escape_markup(printable_text(plot.texts[index]))) +
      "</title><rect x=\"" + svg_number(cells.x(column)) + "\" y=\"" + svg_number(cells.y(row)) +
      "\" width=\"" + svg_number(cells.width) + "\" height=\"" + svg_number(cells.height) +
      "\" fill=\"#" + hex_digits(colour) + "\" stroke=\"#e3e5ec\"" +
      (plot.doubtful ? " stroke-dasharray=\"3 3\"" : "") + "/>";
  if (cells.with_text) {
    out += svg_text(cells.x(column) + cells.width / 2, cells.y(row) + cells.height / 2 + 4,
                    std::string("font-size=\"11\" text-anchor=\"middle\" fill=\"#") +
                        (needs_white_text(colour) ? "fff" : "1d2030") + "\"",
                    cell_text(plot, index, cells.width - 6, limit));
  }
  return out + "</g>\n";
}

std::string labels(const MatrixPlot& plot, const Cells& cells) {
  const std::string small = "font-size=\"11\" fill=\"#6b6f80\" text-anchor=\"";
  const double title = kTitleHeight + (plot.note.empty() ? 0 : kNote);
  std::string out = plot.column_title.empty()
                        ? ""
                        : svg_text(cells.left, title, small + "start\"", plot.column_title + " →");
  out += svg_text(kPlotMargin, cells.top - 12, small + "start\"", plot.row_title + " ↓");
  for (std::size_t column = 0; column < plot.columns.size(); ++column) {
    const double centre = cells.x(column) + cells.width / 2;
    const std::string position = svg_number(centre + 4) + " " + svg_number(cells.top - 8);
    out += cells.upright
               ? svg_text(centre + 4, cells.top - 8,
                          small + "start\" transform=\"rotate(-90 " + position + ")\"",
                          plot.columns[column])
               : svg_text(centre, cells.top - 8, small + "middle\"", plot.columns[column]);
  }
  for (std::size_t row = 0; row < plot.rows.size(); ++row) {
    out += svg_text(cells.left - 8, cells.y(row) + cells.height / 2 + 4, small + "end\"",
                    plot.rows[row]);
  }
  return out;
}

}  // namespace

std::string matrix_plot_svg(const MatrixPlot& plot) {
  check(plot);
  const Cells cells = cells_for(plot);
  const double limit = limit_of(plot);
  const double title =
      std::max({16 * bold_width(printable_text(plot.title)), 1.1 * label_width(plot.note),
                cells.left - kPlotMargin + label_width(plot.column_title + " →")});
  std::string out =
      svg_start(std::max(cells.x(plot.columns.size()), kPlotMargin + title) + kPlotMargin,
                cells.y(plot.rows.size()) + kPlotMargin, plot.title);
  out += svg_text(kPlotMargin, 28, "font-size=\"16\" font-weight=\"600\" fill=\"#1d2030\"",
                  plot.title);
  if (!plot.note.empty()) {
    out += svg_text(kPlotMargin, kTitleHeight, "font-size=\"12\" fill=\"#b45309\"", plot.note);
  }
  out += labels(plot, cells);
  for (std::size_t row = 0; row < plot.rows.size(); ++row) {
    for (std::size_t column = 0; column < plot.columns.size(); ++column) {
      out += cell(plot, cells, row, column, limit);
    }
  }
  return out + "</svg>\n";
}

}  // namespace headlight
