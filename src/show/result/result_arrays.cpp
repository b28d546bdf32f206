#include <algorithm>

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
