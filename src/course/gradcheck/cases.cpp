#include "course/gradcheck/cases.h"

#include <numeric>

#include "headlight/ops/layout.h"
#include "headlight/tensor/random.h"

namespace headlight::cli {
namespace {

constexpr std::uint64_t kSeed = 2024;

Tensor made(const Input& input, std::uint64_t stream, DrawRange range) {
  if (input.leaf.defined()) {
    return input.leaf;
  }
  const Shape& shape = input.shape;
  const Shape drawn = input.form.transposed ? Shape{shape[1], shape[0]} : shape;
  const Tensor values = draw(drawn, stream, input.form.range.value_or(range)).detach();
  Tensor result = input.form.transposed ? transpose(values) : values;
  return result.set_requires_grad(!input.form.constant);
}

}  // namespace

Tensor draw(const Shape& shape, std::uint64_t stream, DrawRange range) {
  return random_uniform(shape, {kSeed, stream}, range.low, range.high, DType::float64)
      .set_requires_grad();
}

Tensor distinct(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  const auto count = static_cast<Index>(values.size());
  // A stride coprime to the count visits every element once.
  Index stride = count / 3 + 1;
  while (count > 0 && std::gcd(stride, count) != 1) {
    ++stride;
  }
  for (Index i = 0; i < count; ++i) {
    const Index middle = count / 2;
    const auto rank = static_cast<double>(i * stride % count - middle);
    values[static_cast<std::size_t>(i)] = 0.11 * (rank < 0 ? rank : rank + 1);
  }
  return Tensor::from(values, shape).set_requires_grad();
}

Tensor filled(const Shape& shape, double value) {
  return Tensor::full(shape, value, DType::float64).set_requires_grad();
}

void add(GradientCases& to, const std::string& op, const CheckedFunction& function,
         const std::vector<CaseRow>& rows, DrawRange range) {
  for (const CaseRow& row : rows) {
    Inputs inputs;
    for (const Input& input : row.inputs) {
      inputs.push_back(made(input, inputs.size() + 1, range));
    }
    to.push_back({op, row.description, std::move(inputs),
                  row.function.empty() ? function : row.function, row.elements_per_input});
  }
}

GradientCases all_gradient_cases() {
  GradientCases all;
  for (const auto family : {elementwise_cases, reduce_cases, layout_cases, matmul_cases, mask_cases,
                            softmax_cases, normalization_cases, fused_layer_cases, embedding_cases,
                            loss_cases, rope_cases, attention_cases, gpt_cases}) {
    family(all);
  }
  return all;
}

}  // namespace headlight::cli
