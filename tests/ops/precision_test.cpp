#include "kernels/gemm/gemm.h"
#include "support/test.h"

namespace precision_test {
constexpr Index kRows = 40;
constexpr Index kWidth = 24;

// A function of x [kRows, kWidth] and a weight [kWidth, kWidth].
using Layer = std::function<Tensor(const Tensor& x, const Tensor& weight)>;

struct Results {
  Tensor value;
  Tensor x_grad;
  Tensor weight_grad;
};

Results results_of(const Layer& layer, const Tensor& weight) {
  const Tensor x = leaf(noise({kRows, kWidth}, 1, DType::float32));
  const Tensor table = leaf(weight.clone());
  const Tensor value = layer(x, table);
  backward(value, {.gradient = noise(value.shape(), 3, DType::float32)});
  return {value, x.grad(), table.grad()};
}

// Checks that every product with the weight as a factor rounds the weight.
void check_rounds_weight(const Layer& layer) {
  const Tensor weight = noise({kWidth, kWidth}, 2, DType::float32);
  const Results given = results_of(layer, weight);
  const Results rounded =
      results_of(layer, convert(convert(weight, DType::bfloat16), DType::float32));
  CHECK(same_bits(given.value, rounded.value));
  CHECK(same_bits(given.x_grad, rounded.x_grad));
  CHECK(same_bits(given.weight_grad, rounded.weight_grad));
}

bool has_bfloat16() { return !kernels::bfloat16_instructions().empty(); }

TEST_CASE("in bfloat16 the products of linear round the weight, forward and backward") {
  if (has_bfloat16()) {
    check_rounds_weight([](const Tensor& x, const Tensor& weight) {
      return linear(x, weight, {}, Precision::bfloat16);
    });
  }
}

TEST_CASE("in bfloat16 the products of norm_linear round the weight, forward and backward") {
  if (has_bfloat16()) {
    check_rounds_weight([](const Tensor& x, const Tensor& weight) {
      return norm_linear(x, {}, weight, {}, Precision::bfloat16);
    });
  }
}

TEST_CASE("in bfloat16 the products of feed_forward round either weight, forward and backward") {
  const Tensor other = noise({kWidth, kWidth}, 4, DType::float32);
  const auto layer = [](const Tensor& x, const Tensor& up, const Tensor& down) {
    return feed_forward(x, {.norm = {},
                            .up_weight = up,
                            .up_bias = {},
                            .down_weight = down,
                            .down_bias = {},
                            .precision = Precision::bfloat16});
  };
  if (has_bfloat16()) {
    check_rounds_weight([&](const Tensor& x, const Tensor& up) { return layer(x, up, other); });
    check_rounds_weight([&](const Tensor& x, const Tensor& down) { return layer(x, other, down); });
  }
}

TEST_CASE("in bfloat16 the products of the loss head round the weight, forward and backward") {
  const Tensor targets = Tensor::zeros({kRows}, DType::int32);
  if (has_bfloat16()) {
    check_rounds_weight([&](const Tensor& x, const Tensor& weight) {
      return linear_cross_entropy(x, weight, targets, {.precision = Precision::bfloat16});
    });
  }
}
}  // namespace precision_test
