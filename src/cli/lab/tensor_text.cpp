#include "cli/lab/tensor_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

#include "views/report/terminal_text.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kWhole = 1000;  // largest number of elements printed in full
constexpr Index kEdge = 3;      // rows and columns at both ends of larger tensors

// Returns the format of printf for all numbers of a tensor, as PyTorch chooses it; null for truth
// values. `values`: the numbers to print.
const char* format_of(DType dtype, const std::vector<double>& values, bool scientific) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  bool whole = true;
  for (const double value : values) {
    if (std::isfinite(value) && value != 0) {
      least = std::min(least, std::abs(value));
      most = std::max(most, std::abs(value));
      whole = whole && value == std::floor(value);
    }
  }
  return dtype == DType::boolean                                             ? nullptr
         : dtype == DType::int32                                             ? "%.0f"
         : whole                                                             ? "%.0f."
         : scientific && (most / least > 1000 || most > 1e8 || least < 1e-4) ? "%.4e"
                                                                             : "%.4f";
}

std::string number_text(double value, const char* format) {
  if (format == nullptr) {
    return value != 0 ? "True" : "False";
  }
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  }
  std::array<char, 400> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// Writes a tensor axis by axis.
struct Printer {
  Shape shape;
  std::vector<double> values;
  Index edge;                                 // elements at both ends of an axis
  std::function<std::string(double)> number;  // text of an element

  // `offset`: number of equal parts before this one.
  std::string part(Index axis, Index offset, std::size_t indent) const {
    if (axis == shape.rank()) {
      return number(values[static_cast<std::size_t>(offset)]);
    }
    const Index inner = shape.rank() - axis - 1;
    const std::string between = inner == 0
                                    ? ", "
                                    : "," + std::string(static_cast<std::size_t>(inner), '\n') +
                                          std::string(indent + 1, ' ');
    std::string text = "[";
    for (Index i = 0; i < shape[axis]; ++i) {
      text += i > 0 ? between : "";
      if (i == edge && i < shape[axis] - edge) {
        text += inner == 0 ? " ..." : "...";
        i = shape[axis] - edge - 1;
      } else {
        text += part(axis + 1, offset * shape[axis] + i, indent + 1);
      }
    }
    return text + "]";
  }
};

}  // namespace

std::string tensor_text(const std::string& name, const Tensor& tensor, bool scientific) {
  std::vector<double> printed;
  Printer printer{tensor.shape(), tensor.to_vector(),
                  tensor.numel() > kWhole ? kEdge : tensor.numel(), [&](double value) {
                    printed.push_back(value);
                    return std::string();
                  }};
  printer.part(0, 0, 0);
  const char* format = format_of(tensor.dtype(), printed, scientific);
  Index width = 0;
  for (const double value : printed) {
    width = std::isfinite(value) ? std::max(width, std::ssize(number_text(value, format))) : width;
  }
  printer.number = [&](double value) { return pad_left(number_text(value, format), width); };
  const std::string begin = name + " = tensor(";
  return begin + printer.part(0, 0, begin.size()) + ")\n";
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> others = b.to_vector();
  auto other = others.begin();
  double largest = 0;
  for (const double value : a.to_vector()) {
    largest = std::max(largest, std::abs(value - *other++));
  }
  return largest;
}

}  // namespace headlight::cli::lab
