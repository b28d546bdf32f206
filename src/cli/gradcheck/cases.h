#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headlight/tensor/tensor.h"

// Cases of `headlight gradcheck`: every differentiable op on plain and on awkward inputs.
namespace headlight::cli {

struct GradientCase {
  std::string op;              // cases of one op share a row of the table
  std::string description;     // special property of the inputs
  std::vector<Tensor> inputs;  // float64; checked if they require a gradient
  std::function<Tensor(const std::vector<Tensor>&)> function;
  Index elements_per_input = 0;  // size of the random sample to check; 0: all
};

// Case that checks all elements.
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

// Cases of all functions above, in that order.
GradientCases all_gradient_cases();

void append(GradientCases& to, GradientCases from);

// Range of random values.
struct DrawRange {
  double low = -1.5;
  double high = 1.5;
};

// Float64 leaf with reproducible random values, different for each stream.
Tensor draw(const Shape& shape, std::uint64_t stream = 1, DrawRange range = {});
// draw() as a transposed view of two axes, so that its elements are not in row-major order.
Tensor draw_transposed(const Shape& shape, std::uint64_t stream = 1, DrawRange range = {});
// Values at least 0.1 from 0 and from each other, for ops with kinks.
Tensor draw_distinct(const Shape& shape);

}  // namespace headlight::cli
