#include "cli/lab/tensor_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace headlight::cli::lab {
namespace {

constexpr Index kWhole = 1000;  // largest number of elements printed in full

// Formats all numbers of a tensor alike, as PyTorch does.
class NumberFormat {
 public:
  // `values`: the numbers to print.
  NumberFormat(DType dtype, const std::vector<double>& values, bool scientific) : dtype_(dtype) {
    std::vector<double> sizes;
    for (const double value : values) {
      if (std::isfinite(value) && value != 0) {
        sizes.push_back(std::abs(value));
      }
    }
    whole_ = std::all_of(sizes.begin(), sizes.end(),
                         [](double size) { return size == std::floor(size); });
    if (!sizes.empty() && !whole_ && scientific) {
      const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
      scientific_ = *most / *least > 1000 || *most > 1e8 || *least < 1e-4;
    }
    for (const double value : values) {
      if (std::isfinite(value)) {
        width_ = std::max(width_, plain(value).size());
      }
    }
  }

  std::string text(double value) const {
    const std::string text = plain(value);
    return std::string(text.size() < width_ ? width_ - text.size() : 0, ' ') + text;
  }

 private:
  std::string plain(double value) const {
    if (dtype_ == DType::boolean) {
      return value != 0 ? "True" : "False";
    }
    if (!std::isfinite(value)) {
      return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    }
    std::array<char, 400> text;
    const char* format = dtype_ == DType::int32 ? "%.0f"
                         : whole_               ? "%.0f."
                         : scientific_          ? "%.4e"
                                                : "%.4f";
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
  }

  DType dtype_;
  bool whole_ = true;
  bool scientific_ = false;
  std::size_t width_ = 0;
};

// Prints a tensor axis by axis. Index -1 marks omitted elements.
class Printer {
 public:
  Printer(const Tensor& tensor, const TensorTextOptions& options)
      : shape_(tensor.shape()),
        values_(tensor.to_vector()),
        edge_(tensor.numel() > kWhole ? options.edge : tensor.numel()),
        format_(tensor.dtype(), shown(0, 0), options.scientific) {}

  std::string text(std::size_t indent) const { return part(0, 0, indent); }

 private:
  std::vector<Index> places(Index axis) const {
    std::vector<Index> result;
    for (Index i = 0; i < shape_[axis]; ++i) {
      if (i < edge_ || i >= shape_[axis] - edge_) {
        result.push_back(i);
      } else if (i == edge_) {
        result.push_back(-1);
      }
    }
    return result;
  }

  std::vector<double> shown(Index axis, Index offset) const {
    if (axis == shape_.rank()) {
      return {values_[static_cast<std::size_t>(offset)]};
    }
    std::vector<double> result;
    for (const Index i : places(axis)) {
      if (i >= 0) {
        const std::vector<double> inner = shown(axis + 1, offset * shape_[axis] + i);
        result.insert(result.end(), inner.begin(), inner.end());
      }
    }
    return result;
  }

  // `offset`: number of equal parts before this one.
  std::string part(Index axis, Index offset, std::size_t indent) const {
    if (axis == shape_.rank()) {
      return format_.text(values_[static_cast<std::size_t>(offset)]);
    }
    const bool row = axis + 1 == shape_.rank();
    const auto blank_lines = static_cast<std::size_t>(std::max<Index>(shape_.rank() - axis - 1, 0));
    const std::string between =
        row ? ", " : "," + std::string(blank_lines, '\n') + std::string(indent + 1, ' ');
    std::string text = "[";
    bool first = true;
    for (const Index i : places(axis)) {
      text += first ? "" : between;
      text +=
          i < 0 ? (row ? " ..." : "...") : part(axis + 1, offset * shape_[axis] + i, indent + 1);
      first = false;
    }
    return text + "]";
  }

  Shape shape_;
  std::vector<double> values_;
  Index edge_;
  NumberFormat format_;
};

}  // namespace

std::string tensor_text(const std::string& name, const Tensor& tensor,
                        const TensorTextOptions& options) {
  const std::string begin = name + " = tensor(";
  return begin + Printer(tensor, options).text(begin.size()) + ")\n";
}

}  // namespace headlight::cli::lab
