#include <algorithm>
#include <string>

#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "ops/common.h"

namespace headlight {
namespace {

using Labels = std::string;

struct Equation {
  std::vector<Labels> operands;
  Labels output;
};

bool has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

void check_labels(const Labels& labels, std::string_view equation) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool letter =
        (labels[i] >= 'a' && labels[i] <= 'z') || (labels[i] >= 'A' && labels[i] <= 'Z');
    require(letter, "[einsum] '", equation, "': labels are single letters");
    require(labels.find(labels[i], i + 1) == Labels::npos, "[einsum] '", equation, "': label ",
            labels[i], " repeats within one operand");
  }
}

Equation parse(std::string_view text) {
  std::string equation(text);
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const std::size_t arrow = equation.find("->");
  require(arrow != std::string::npos, "[einsum] '", text, "': expected '->' and the output labels");
  Equation result{.operands = {}, .output = equation.substr(arrow + 2)};
  const std::string left = equation.substr(0, arrow);
  for (std::size_t start = 0; start <= left.size();) {
    const std::size_t comma = std::min(left.find(',', start), left.size());
    result.operands.push_back(left.substr(start, comma - start));
    start = comma + 1;
  }
  check_labels(result.output, text);
  for (const Labels& labels : result.operands) {
    check_labels(labels, text);
  }
  for (const char label : result.output) {
    require(std::any_of(result.operands.begin(), result.operands.end(),
                        [label](const Labels& labels) { return has(labels, label); }),
            "[einsum] '", text, "': output label ", label, " is in no operand");
  }
  return result;
}

void check_rank(const Tensor& x, const Labels& labels, std::string_view equation) {
  require(x.defined() && x.rank() == static_cast<Index>(labels.size()), "[einsum] '", equation,
          "': operand '", labels, "' does not match shape ", x.defined() ? x.shape() : Shape{});
}

// Sums over the labels that are not in `keep`, and removes them from `labels`.
Tensor sum_missing(const Tensor& x, Labels& labels, const Labels& keep) {
  ReduceOptions options;
  Labels left;
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    if (has(keep, labels[axis])) {
      left.push_back(labels[axis]);
    } else {
      options.axes.push_back(static_cast<Index>(axis));
    }
  }
  labels = left;
  return options.axes.empty() ? x : sum(x, options);
}

Tensor arrange(const Tensor& x, const Labels& from, const Labels& to) {
  std::vector<Index> order;
  for (const char label : to) {
    order.push_back(static_cast<Index>(from.find(label)));
  }
  return permute(x, order);
}

Labels filtered(const Labels& labels, bool in_other, bool in_output, const Labels& other,
                const Labels& output) {
  Labels result;
  for (const char label : labels) {
    if (has(other, label) == in_other && has(output, label) == in_output) {
      result.push_back(label);
    }
  }
  return result;
}

// Returns the sizes of `labels` in x, whose axes have the labels `from`.
Shape sizes_of(const Tensor& x, const Labels& from, const Labels& labels) {
  Shape shape;
  for (const char label : labels) {
    shape.push_back(x.shape()[static_cast<Index>(from.find(label))]);
  }
  return shape;
}

void check_common_sizes(const Tensor& a, const Labels& a_labels, const Tensor& b,
                        const Labels& b_labels, std::string_view equation) {
  for (std::size_t axis = 0; axis < a_labels.size(); ++axis) {
    const std::size_t other = b_labels.find(a_labels[axis]);
    if (other != Labels::npos) {
      const Index in_a = a.shape()[static_cast<Index>(axis)];
      const Index in_b = b.shape()[static_cast<Index>(other)];
      require(in_a == in_b, "[einsum] '", equation, "': label ", a_labels[axis], " has size ", in_a,
              " in one operand and ", in_b, " in the other");
    }
  }
}

}  // namespace

Tensor einsum(std::string_view text, const Tensor& a) {
  const Equation equation = parse(text);
  require(equation.operands.size() == 1, "[einsum] '", text, "': got one operand");
  Labels labels = equation.operands[0];
  check_rank(a, labels, text);
  const Tensor reduced = sum_missing(a, labels, equation.output);
  return arrange(reduced, labels, equation.output);
}

Tensor einsum(std::string_view text, const Tensor& a, const Tensor& b) {
  const Equation equation = parse(text);
  require(equation.operands.size() == 2, "[einsum] '", text, "': got two operands");
  Labels a_labels = equation.operands[0];
  Labels b_labels = equation.operands[1];
  check_rank(a, a_labels, text);
  check_rank(b, b_labels, text);
  check_common_sizes(a, a_labels, b, b_labels, text);
  const Labels& output = equation.output;
  const Tensor left = sum_missing(a, a_labels, b_labels + output);
  const Tensor right = sum_missing(b, b_labels, a_labels + output);

  const Labels batch = filtered(a_labels, true, true, b_labels, output);
  const Labels contracted = filtered(a_labels, true, false, b_labels, output);
  const Labels rows = filtered(a_labels, false, true, b_labels, output);
  const Labels columns = filtered(b_labels, false, true, a_labels, output);
  const Shape row_sizes = sizes_of(left, a_labels, rows);
  const Shape column_sizes = sizes_of(right, b_labels, columns);
  Shape result_shape = sizes_of(left, a_labels, batch);
  const Index batch_count = numel(result_shape);
  const Index inner = numel(sizes_of(left, a_labels, contracted));

  const Tensor product = matmul(reshape(arrange(left, a_labels, batch + rows + contracted),
                                        {batch_count, numel(row_sizes), inner}),
                                reshape(arrange(right, b_labels, batch + contracted + columns),
                                        {batch_count, inner, numel(column_sizes)}));
  for (const Shape& sizes : {row_sizes, column_sizes}) {
    for (const Index size : sizes) {
      result_shape.push_back(size);
    }
  }
  return arrange(reshape(product, result_shape), batch + rows + columns, output);
}

}  // namespace headlight
