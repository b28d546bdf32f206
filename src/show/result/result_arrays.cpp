#include <algorithm>
#include <cmath>
#include <limits>

#include "headlight/base/error.h"
#include "show/result/result.h"

namespace headlight {
namespace {

void add_axis(const std::string& title, const std::vector<std::string>& labels, NamedTexts& axes) {
  const auto known =
      std::find_if(axes.begin(), axes.end(), [&](const auto& axis) { return axis.first == title; });
  if (known == axes.end()) {
    axes.emplace_back(title, labels);
  } else {
    require(known->second == labels, "[arrays_of] two axes are called ", title);
  }
}

}  // namespace

std::vector<std::string> numbers_to(Index count) {
  std::vector<std::string> labels;
  for (Index number = 0; number < count; ++number) {
    labels.push_back(std::to_string(number));
  }
  return labels;
}

std::size_t index_in_axis(const std::string& label, std::vector<std::string>& axis) {
  const auto found = std::find(axis.begin(), axis.end(), label);
  const auto index = static_cast<std::size_t>(found - axis.begin());
  if (found == axis.end()) {
    axis.push_back(label);
  }
  return index;
}

MatrixPlot head_plot(const std::vector<HeadValue>& heads) {
  Index layers = 0;
  Index columns = 0;  // largest head number + 1: pruned models skip numbers
  bool has_intervals = true;
  for (const auto& [head, value] : heads) {
    layers = std::max(layers, head.layer + 1);
    columns = std::max(columns, head.head + 1);
    has_intervals = has_intervals && !std::isnan(value.low);
  }
  const std::vector<double> empty(static_cast<std::size_t>(layers * columns),
                                  std::numeric_limits<double>::quiet_NaN());
  MatrixPlot plot{.row_title = "layer",
                  .column_title = "head",
                  .rows = numbers_to(layers),
                  .columns = numbers_to(columns),
                  .values = empty};
  if (has_intervals) {
    plot.lows = plot.highs = empty;
  }
  for (const auto& [head, value] : heads) {
    const auto index = static_cast<std::size_t>(head.layer * columns + head.head);
    plot.values[index] = value.mean;
    if (has_intervals) {
      plot.lows[index] = value.low;
      plot.highs[index] = value.high;
    }
  }
  return plot;
}

ResultArrays arrays_of(const std::vector<ResultGrid>& grids) {
  ResultArrays arrays;
  for (const auto& [name, plot] : grids) {
    Shape shape{std::ssize(plot.rows)};
    add_axis(plot.row_title, plot.rows, arrays.texts);
    if (!plot.column_title.empty()) {
      shape.push_back(std::ssize(plot.columns));
      add_axis(plot.column_title, plot.columns, arrays.texts);
    }
    const auto add = [&](const std::string& of, const std::vector<double>& values) {
      if (!values.empty()) {
        arrays.tensors.emplace_back(of, Tensor::from(values, shape));
      }
    };
    add(name, plot.values);
    add(name + "_low", plot.lows);
    add(name + "_high", plot.highs);
  }
  return arrays;
}

}  // namespace headlight
