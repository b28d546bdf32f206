#include "headlight/tensor/print.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

// Follows torch/_tensor_str.py of PyTorch 2.13.
namespace headlight {
namespace {

constexpr std::string_view kPrefix = "tensor(";
constexpr Index kGap = -1;  // stands for the elements between the edges of an axis

// Form of all numbers of one tensor.
struct NumberForm {
  DType dtype = DType::float32;
  int precision = 0;
  bool whole = true;  // all finite numbers are integers
  bool scientific = false;
  Index width = 1;

  std::string text(double value) const {
    if (dtype == DType::boolean) {
      return value != 0 ? "True" : "False";
    }
    if (!std::isfinite(value)) {
      return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    }
    std::array<char, 512> digits;  // 309 before the point, at most 100 after it
    const auto form = scientific ? std::chars_format::scientific : std::chars_format::fixed;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, form,
                                   whole && !scientific ? 0 : precision);
    const bool needs_point = whole && !scientific && is_floating(dtype);
    return std::string(digits.data(), end.ptr) + (needs_point ? "." : "");
  }

  std::string padded(double value) const {
    const std::string unpadded = text(value);
    const Index missing = width - std::ssize(unpadded);
    return std::string(static_cast<std::size_t>(std::max<Index>(missing, 0)), ' ') + unpadded;
  }
};

// Returns the form for the printed values of a tensor.
NumberForm form_of(DType dtype, std::vector<double> values, const PrintOptions& options) {
  NumberForm form{.dtype = dtype, .precision = options.precision};
  if (is_floating(dtype)) {
    std::erase_if(values, [](double value) { return !std::isfinite(value) || value == 0; });
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const double value : values) {
      least = std::min(least, std::abs(value));
      most = std::max(most, std::abs(value));
      form.whole = form.whole && value == std::ceil(value);
    }
    const bool needs_exponent = most / least > 1000 || most > 1e8 || least < 1e-4;
    form.scientific = !values.empty() && options.scientific.value_or(needs_exponent);
  }
  for (const double value : values) {
    form.width = std::max(form.width, std::ssize(form.text(value)));
  }
  return form;
}

// Returns element i of the first axis.
Tensor part_of(const Tensor& x, Index i) {
  Shape shape = x.shape();
  Shape strides = x.strides();
  shape.erase(0);
  strides.erase(0);
  return x.strided_view(shape, strides, i * x.strides()[0]);
}

// Text of the elements of one tensor.
class ElementPrinter {
 public:
  ElementPrinter(const Tensor& x, const PrintOptions& options)
      : options_(options), shortened_(x.numel() > options.threshold) {
    std::vector<double> values;
    collect(x, values);
    form_ = form_of(x.dtype(), std::move(values), options);
  }

  // `column`: column of the opening bracket.
  std::string text(const Tensor& x, Index column) const {
    if (x.rank() == 0) {
      return form_.padded(x.item());
    }
    const bool is_row = x.rank() == 1;
    const Index per_line =
        is_row ? std::max<Index>(1, (options_.line_width - column) / (form_.width + 2)) : 1;
    const auto lines = static_cast<std::size_t>(std::max<Index>(1, x.rank() - 1));
    const std::string line_break =
        "," + std::string(lines, '\n') + std::string(static_cast<std::size_t>(column + 1), ' ');
    std::string text_of_all = "[";
    Index count = 0;
    for (const Index i : shown(x.size(0))) {
      text_of_all += count == 0 ? "" : count % per_line == 0 ? line_break : ", ";
      const char* gap = is_row && options_.edge_items > 0 ? " ..." : "...";
      text_of_all += i == kGap ? gap : text(part_of(x, i), column + 1);
      ++count;
    }
    return text_of_all + "]";
  }

 private:
  // Returns the printed indices of an axis.
  std::vector<Index> shown(Index size) const {
    const bool has_gap = shortened_ && size > 2 * options_.edge_items;
    std::vector<Index> indices;
    for (Index i = 0; i < size; ++i) {
      if (has_gap && i == options_.edge_items) {
        indices.push_back(kGap);
        i = size - options_.edge_items;
      }
      if (i < size) {
        indices.push_back(i);
      }
    }
    return indices;
  }

  void collect(const Tensor& x, std::vector<double>& values) const {
    if (x.rank() == 0) {
      values.push_back(x.item());
      return;
    }
    for (const Index i : shown(x.size(0))) {
      if (i != kGap) {
        collect(part_of(x, i), values);
      }
    }
  }

  PrintOptions options_;
  bool shortened_;
  NumberForm form_;
};

// Returns "grad_fn=<MaskedFillBackward0>" for "masked_fill".
std::string gradient_text(std::string_view op) {
  std::string text = "grad_fn=<";
  bool begins_word = true;
  for (const char letter : op) {
    if (letter != '_') {
      const bool is_small = letter >= 'a' && letter <= 'z';
      text += begins_word && is_small ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    begins_word = letter == '_';
  }
  return text + "Backward0>";
}

// Returns the remarks after the elements.
std::vector<std::string> suffixes_of(const Tensor& x, const PrintOptions& options) {
  std::vector<std::string> suffixes;
  const bool is_empty = x.numel() == 0;
  if (is_empty ? x.rank() != 1 : options.edge_items == 0) {
    suffixes.push_back("size=" + tuple_text(x.shape()));
  }
  const bool is_obvious = x.dtype() == DType::float32 || (x.dtype() == DType::boolean && !is_empty);
  if (!is_obvious) {
    suffixes.push_back("dtype=torch." + std::string(name_of(x.dtype())));
  }
  if (!x.grad_op().empty()) {
    suffixes.push_back(gradient_text(x.grad_op()));
  } else if (x.requires_grad()) {
    suffixes.emplace_back("requires_grad=True");
  }
  return suffixes;
}

void check_options(const PrintOptions& options) {
  require(options.precision >= 0 && options.precision <= 100,
          "[tensor_text] expected a precision from 0 to 100, got ", options.precision);
  for (const Index value :
       {options.threshold, options.edge_items, options.line_width, options.indent}) {
    require(value >= 0, "[tensor_text] expected options from 0, got ", value);
  }
}

}  // namespace

std::string tuple_text(const Shape& shape) {
  std::string text = "(";
  for (Index axis = 0; axis < shape.rank(); ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(shape[axis]);
  }
  return text + (shape.rank() == 1 ? ",)" : ")");
}

std::string tensor_text(const Tensor& x, const PrintOptions& options) {
  check_options(options);
  if (!x.defined()) {
    return "tensor(undefined)";
  }
  const Index column = options.indent + std::ssize(kPrefix);
  std::string text(kPrefix);
  text += x.numel() == 0 ? "[]" : ElementPrinter(x, options).text(x, column);
  const std::size_t last_break = text.rfind('\n');
  Index length = last_break == std::string::npos
                     ? options.indent + std::ssize(text) + 2
                     : std::ssize(text) - static_cast<Index>(last_break) + 1;
  for (const std::string& suffix : suffixes_of(x, options)) {
    if (length + std::ssize(suffix) + 2 > options.line_width) {
      text += ",\n" + std::string(static_cast<std::size_t>(column), ' ');
      length = column + std::ssize(suffix);
    } else {
      text += ", ";
      length += std::ssize(suffix) + 2;
    }
    text += suffix;
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << tensor_text(x); }

}  // namespace headlight
