#include "kernels/gemm/gemm.h"
#include "support/test.h"

namespace precision_test {
constexpr Index kRows = 40;
constexpr Index kWidth = 24;

// A function of x [kRows, kWidth] and a weight [kWidth, kWidth].
using Layer = std::function<Tensor(const Tensor& x, const Tensor& weight)>;

// Returns the value and both gradients.
std::vector<Tensor> results_of(const Layer& layer, const Tensor& weight) {
  const Tensor x = leaf(noise({kRows, kWidth}, 1, DType::float32));
  const Tensor table = leaf(weight.clone());
  const Tensor value = layer(x, table);
  backward(value, {.gradient = noise(value.shape(), 3, DType::float32)});
  return {value.detach(), x.grad(), table.grad()};
}

// Checks that every product with the weight as a factor rounds the weight.
void check_rounds_weight(const Layer& layer) {
  const Tensor weight = noise({kWidth, kWidth}, 2, DType::float32);
  const Tensor rounded = convert(convert(weight, DType::bfloat16), DType::float32);
  CHECK(same_bits(results_of(layer, weight), results_of(layer, rounded)));
}

TEST_CASE("in bfloat16 the products of every layer round the weight, forward and backward") {
  if (kernels::bfloat16_instructions().empty()) {
    return;  // this machine rejects bfloat16
  }
  constexpr Precision kRounded = Precision::bfloat16;
  const Tensor other = noise({kWidth, kWidth}, 4, DType::float32);
  const Tensor targets = Tensor::zeros({kRows}, DType::int32);
  const auto mlp = [](const Tensor& x, const Tensor& up, const Tensor& down) {
    FeedForwardParameters parameters;
    parameters.up_weight = up;
    parameters.down_weight = down;
    parameters.precision = kRounded;
    return feed_forward(x, parameters);
  };
  using T = const Tensor&;
  check_rounds_weight([](T x, T weight) { return linear(x, weight, {}, kRounded); });
  check_rounds_weight([](T x, T weight) { return norm_linear(x, {}, weight, {}, kRounded); });
  check_rounds_weight([&](T x, T up) { return mlp(x, up, other); });
  check_rounds_weight([&](T x, T down) { return mlp(x, other, down); });
  check_rounds_weight([&](T x, T weight) {
    return linear_cross_entropy(x, weight, targets, {.precision = kRounded});
  });
}
}  // namespace precision_test
