#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headlight/tensor/tensor.h"

// What `headlight gradcheck` tries: every differentiable op on plain and on awkward inputs.
namespace headlight::cli {

struct GradientCase {
  std::string op;              // cases of one op share a row of the table
  std::string description;     // what is particular about the inputs
  std::vector<Tensor> inputs;  // float64; those that require a gradient are checked
  std::function<Tensor(const std::vector<Tensor>&)> function;
  Index elements_per_input = 0;  // check a random sample of so many; 0: all
};

// A case of which all elements are checked.
GradientCase check(std::string op, std::string description, std::vector<Tensor> inputs,
                   std::function<Tensor(const std::vector<Tensor>&)> function);

using GradientCases = std::vector<GradientCase>;

GradientCases elementwise_cases();
GradientCases reduce_cases();
GradientCases layout_cases();
GradientCases matmul_cases();
GradientCases mask_cases();
GradientCases softmax_cases();
GradientCases normalization_cases();
GradientCases fused_layer_cases();
GradientCases embedding_cases();
GradientCases loss_cases();
GradientCases rope_cases();
GradientCases attention_cases();
GradientCases gpt_cases();

// All of the above, in that order.
GradientCases all_gradient_cases();

// Adds the cases of `from` at the end.
void append(GradientCases& to, GradientCases from);

// Where drawn values lie.
struct DrawRange {
  double low = -1.5;
  double high = 1.5;
};

// A float64 leaf with reproducible values; other streams give other values.
Tensor draw(const Shape& shape, std::uint64_t stream = 1, DrawRange range = {});
// The same as a transposed view, so that its elements do not lie in row-major order: two axes.
Tensor draw_transposed(const Shape& shape, std::uint64_t stream = 1, DrawRange range = {});
// Values at least 0.1 from 0 and from each other: safe where an op has kinks there.
Tensor draw_distinct(const Shape& shape);

}  // namespace headlight::cli
