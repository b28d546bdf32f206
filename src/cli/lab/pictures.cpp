#include "cli/lab/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "cli/lab/report.h"
#include "cli/terminal/terminal.h"
#include "headlight/ops/layout.h"
#include "headlight/views/attention/attention_svg.h"
#include "views/report/table.h"
#include "views/report/terminal_text.h"

namespace headlight::cli::lab {
namespace {

constexpr std::array<const char*, 4> kShades{"░░", "▒▒", "▓▓", "██"};
constexpr std::size_t kGap = 4;

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t used = display_width(text);
  return text + std::string(used < width ? width - used : 0, ' ');
}

std::string bar_of(double value, double largest, int width) {
  const double share = largest > 0 && std::isfinite(value) ? value / largest : 0;
  return block_bar(static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * 8 * width)));
}

const char* shade_of(double weight) {
  if (weight == 0) {
    return " ·";
  }
  const auto level = static_cast<std::size_t>(std::clamp(weight * 4, 0.0, 3.0));
  return kShades[level];
}

std::vector<std::string> lines_of(const std::string& block) {
  std::vector<std::string> lines;
  std::istringstream in(block);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::string bars(const std::vector<Bar>& values, int decimals, int width) {
  std::size_t widest = 0;
  double largest = 0;
  for (const Bar& bar : values) {
    widest = std::max(widest, display_width(bar.label));
    largest = std::isfinite(bar.value) ? std::max(largest, bar.value) : largest;
  }
  std::string text;
  for (const Bar& bar : values) {
    text += padded(bar.label, widest) + " │" + bar_of(bar.value, largest, width) + " " +
            fixed_number(bar.value, decimals) + "\n";
  }
  return text;
}

std::string shades(const Tensor& weights, const std::vector<std::string>& row_labels,
                   double darkest) {
  require(weights.rank() == 2 && weights.size(0) == static_cast<Index>(row_labels.size()),
          "[shades] expected ", row_labels.size(), " rows, got ", weights.shape());
  std::size_t widest = 0;
  for (const std::string& label : row_labels) {
    widest = std::max(widest, display_width(label));
  }
  const std::vector<double> values = weights.to_vector();
  const auto columns = static_cast<std::size_t>(weights.size(1));
  std::string text;
  for (std::size_t row = 0; row < row_labels.size(); ++row) {
    text += padded(row_labels[row], widest) + " ";
    for (std::size_t column = 0; column < columns; ++column) {
      text += shade_of(values[row * columns + column] / darkest);
    }
    text += "\n";
  }
  return text;
}

std::string side_by_side(const std::vector<std::string>& titles,
                         const std::vector<std::string>& blocks) {
  require(titles.size() == blocks.size(), "[side_by_side] expected a title for every block");
  std::vector<std::vector<std::string>> columns;
  std::size_t height = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    columns.push_back(lines_of(blocks[i]));
    columns.back().insert(columns.back().begin(), titles[i]);
    height = std::max(height, columns.back().size());
  }
  std::vector<std::string> lines(height);
  std::size_t left = 0;
  for (const std::vector<std::string>& column : columns) {
    std::size_t widest = 0;
    for (std::size_t i = 0; i < column.size(); ++i) {
      lines[i] = padded(lines[i], left) + column[i];
      widest = std::max(widest, display_width(column[i]));
    }
    left += widest + kGap;
  }
  std::string text;
  for (const std::string& line : lines) {
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string weights_svg(const std::string& title, const std::vector<std::string>& tokens,
                        const Tensor& weights) {
  LayerAttention layer;
  const Index side = weights.size(-1);
  layer.weights = convert(reshape(weights.detach(), {-1, side, side}), DType::float32);
  for (Index head = 0; head < layer.weights.size(0); ++head) {
    layer.heads.push_back(head);
  }
  return attention_svg({.title = title, .tokens = tokens, .layers = {}}, layer);
}

void draw_curves(const std::string& file, const CurvePlot& plot, Report& report) {
  report.figure(file, line_plot_svg({.title = plot.title,
                                     .x_label = report.words(plot.x_label),
                                     .y_label = report.words(plot.y_label),
                                     .series = plot.series,
                                     .y_from_zero = true,
                                     .points = plot.points}));
}

}  // namespace headlight::cli::lab
