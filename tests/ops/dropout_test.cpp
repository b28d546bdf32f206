#include "support/test.h"

TEST_CASE("the elements that dropout keeps do not depend on strides or on chunks") {
  const RandomStream random{5, 6};
  const Tensor x = noise({70, 600}, 1);
  const Tensor straight = dropout(x, 0.5, random);
  CHECK(same_bits(dropout(transpose(transpose(x).clone()), 0.5, random), straight));
  const std::vector<double> y = straight.to_vector();
  const std::vector<double> from = x.to_vector();
  bool same = true;
  for (std::size_t i = 0; i < y.size(); ++i) {
    same = same && y[i] == (random.uniform(i) >= 0.5 ? 2 * from[i] : 0.0);
  }
  CHECK(same);
}

TEST_CASE("dropout with probability 0 is the input itself") {
  const Tensor x = noise({3}, 1);
  CHECK(dropout(x, 0, {}).data<double>() == x.data<double>());
}

TEST_CASE("dropout differs between random streams and accepts an empty input") {
  const Tensor x = Tensor::ones({64});
  CHECK_FALSE(same_bits(dropout(x, 0.5, {1, 1}), dropout(x, 0.5, {1, 2})));
  CHECK_FALSE(same_bits(dropout(x, 0.5, {1, 1}), dropout(x, 0.5, {2, 1})));
  CHECK(dropout(Tensor::zeros({0, 2}), 0.5, {}).shape() == Shape{0, 2});
}

TEST_CASE("attention applies dropout to weights after recording them") {
  const Tensor zeros = Tensor::zeros({1, 2}, DType::float64);
  const Tensor key = Tensor::zeros({4, 2}, DType::float64);
  const Tensor value = doubles({1, 10, 100, 1000}, {4, 1});
  const RandomStream random{3, 4};
  const AttentionResult result =
      scaled_dot_product_attention(zeros, key, value, {.dropout = 0.5, .random = random});
  check_values(result.weights, {0.25, 0.25, 0.25, 0.25});
  check_close(result.output, matmul(dropout(result.weights, 0.5, random), value), 0);
}
