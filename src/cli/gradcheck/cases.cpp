#include "cli/gradcheck/cases.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "headlight/ops/layout.h"
#include "headlight/tensor/random.h"

namespace headlight::cli {
namespace {

constexpr std::uint64_t kSeed = 2024;

}  // namespace

GradientCase check(std::string op, std::string description, std::vector<Tensor> inputs,
                   std::function<Tensor(const std::vector<Tensor>&)> function) {
  return {std::move(op), std::move(description), std::move(inputs), std::move(function)};
}

Tensor draw(const Shape& shape, std::uint64_t stream, DrawRange range) {
  return random_uniform(shape, {kSeed, stream}, range.low, range.high, DType::float64)
      .set_requires_grad();
}

Tensor draw_transposed(const Shape& shape, std::uint64_t stream, DrawRange range) {
  const Tensor values = draw({shape[1], shape[0]}, stream, range).detach();
  return transpose(values).set_requires_grad();
}

Tensor draw_distinct(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  const auto count = static_cast<Index>(values.size());
  // A stride coprime to the count visits every element once.
  Index stride = count / 3 + 1;
  while (count > 0 && std::gcd(stride, count) != 1) {
    ++stride;
  }
  for (Index i = 0; i < count; ++i) {
    const auto rank = static_cast<double>(i * stride % count - count / 2);
    values[static_cast<std::size_t>(i)] = 0.11 * (rank < 0 ? rank : rank + 1);
  }
  return Tensor::from(values, shape).set_requires_grad();
}

void append(GradientCases& to, GradientCases from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

GradientCases all_gradient_cases() {
  GradientCases all;
  for (const auto family : {elementwise_cases, reduce_cases, layout_cases, matmul_cases, mask_cases,
                            softmax_cases, normalization_cases, fused_layer_cases, embedding_cases,
                            loss_cases, rope_cases, attention_cases, gpt_cases}) {
    append(all, family());
  }
  return all;
}

}  // namespace headlight::cli
