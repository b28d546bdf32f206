#include "course/report/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <sstream>

#include "base/transformed.h"
#include "headlight/ops/layout.h"
#include "headlight/show/attention/attention_svg.h"
#include "show/report/parts/table.h"
#include "show/report/parts/terminal_text.h"

namespace headlight::cli::lab {
namespace {

constexpr std::array<const char*, 4> kShades{"░░", "▒▒", "▓▓", "██"};
constexpr Index kGap = 4;

const char* shade_of(double weight) {
  if (weight == 0) {
    return " ·";
  }
  const auto level = static_cast<std::size_t>(std::clamp(weight * 4, 0.0, 3.0));
  return kShades[level];
}

}  // namespace

std::string bars(const std::vector<Bar>& values, int decimals, int width) {
  const Index margin = widest(transformed(values, &Bar::label));
  double largest = 0;
  for (const Bar& bar : values) {
    largest = std::isfinite(bar.value) ? std::max(largest, bar.value) : largest;
  }
  std::string text;
  for (const Bar& bar : values) {
    const double share = largest > 0 && std::isfinite(bar.value) ? bar.value / largest : 0;
    const auto eighths = static_cast<int>(std::lround(share * 8 * width));
    text += pad_right(bar.label, margin) + " │" + block_bar(eighths) + " " +
            fixed_number(bar.value, decimals) + "\n";
  }
  return text;
}

std::string shades(const Tensor& weights, const std::vector<std::string>& row_labels,
                   double darkest) {
  require(weights.rank() == 2 && weights.size(0) == std::ssize(row_labels), "[shades] expected ",
          row_labels.size(), " rows, got ", weights.shape());
  const std::vector<double> values = weights.to_vector();
  auto value = values.begin();
  std::string text;
  for (const std::string& label : row_labels) {
    text += pad_right(label, widest(row_labels)) + " ";
    for (Index column = 0; column < weights.size(1); ++column) {
      text += shade_of(*value++ / darkest);
    }
    text += "\n";
  }
  return text;
}

std::string side_by_side(const std::vector<std::pair<std::string, std::string>>& titled_blocks) {
  std::vector<std::string> lines;
  for (const auto& [title, block] : titled_blocks) {
    const Index left = lines.empty() ? 0 : widest(lines) + kGap;
    std::istringstream column(title + "\n" + block);
    std::string line;
    for (std::size_t i = 0; std::getline(column, line); ++i) {
      lines.resize(std::max(lines.size(), i + 1));
      lines[i] = pad_right(lines[i], left) + line;
    }
  }
  std::string text;
  for (const std::string& line : lines) {
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string head_shades(const std::string& head, const Tensor& weights,
                        const std::vector<std::string>& row_labels) {
  const Index room = static_cast<Index>(kColumns);
  const Index wide = widest(row_labels) + 1 + 2 * weights.size(2);
  if (wide > room) {
    return "";
  }
  const Index beside = (room + kGap) / (std::max(wide, widest({head}) + 4) + kGap);
  std::string text;
  std::vector<std::pair<std::string, std::string>> line;
  for (Index h = 0; h < weights.size(0); ++h) {
    line.emplace_back(concat_text(head, " ", h), shades(select(weights, 0, h), row_labels));
    if (std::ssize(line) == beside || h + 1 == weights.size(0)) {
      text += (text.empty() ? "" : "\n") + side_by_side(line);
      line.clear();
    }
  }
  return text;
}

std::string weights_svg(const std::string& title, const std::vector<std::string>& tokens,
                        const Tensor& weights, Language language) {
  LayerAttention layer;
  const Index side = weights.size(-1);
  layer.weights = convert(reshape(weights.detach(), {-1, side, side}), DType::float32);
  layer.heads.resize(static_cast<std::size_t>(layer.weights.size(0)));
  std::iota(layer.heads.begin(), layer.heads.end(), 0);
  return attention_svg(
      {.title = title, .tokens = tokens, .layers = {}}, layer,
      {.language = language, .names_layer = false, .names_heads = weights.rank() == 3});
}

void draw_curves(const Curves& curves, Report& report) {
  const auto word = [&](const char* name) {
    return report.entry(curves.words, name, curves.shown);
  };
  report.figure(curves.file, line_plot_svg({.title = word("title"),
                                            .x_label = word("x"),
                                            .y_label = word("y"),
                                            .series = curves.series,
                                            .y_from_zero = true,
                                            .points = curves.points}));
}

void draw_matrix(const std::string& file, MatrixPlot plot, Report& report, const Json& shown) {
  plot.title = report.entry(file, "title", shown);
  plot.row_title = report.entry(file, "rows");
  plot.column_title = report.entry(file, "columns");
  report.figure(file, matrix_plot_svg(plot));
}

}  // namespace headlight::cli::lab
