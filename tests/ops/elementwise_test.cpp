#include "support/test.h"

TEST_CASE("large tensors come out the same as small ones, piece by piece") {
  // More elements than a parallel chunk, with rows across chunk boundaries.
  const Tensor x = noise({3, 12345}, 1);
  const Tensor y = noise({12345}, 2);
  const Tensor product = x * y;
  const double* from = x.data<double>();
  bool same = true;
  for (Index i = 0; i < x.numel(); ++i) {
    same = same && product.data<double>()[i] == from[i] * y.data<double>()[i % 12345];
  }
  CHECK(same);
  const Tensor turned = transpose(x) + transpose(x);
  CHECK(turned.data<double>()[3 * 7000 + 2] == 2 * from[2 * 12345 + 7000]);
}

TEST_CASE("bfloat16 parameters can be trained through a cast") {
  const Tensor weight = leaf(convert(doubles({3}, {1}), DType::bfloat16));
  backward(cast(weight, DType::float32) * floats({2.00390625F}, {1}));
  CHECK(weight.grad().dtype() == DType::bfloat16);
  check_values(weight.grad(), {2});
}

TEST_CASE("+= replaces a tensor by the sum and leaves other handles alone") {
  const Tensor x = leaf(doubles({1, 2}, {2}));
  Tensor y = x;
  y += doubles({10}, {1});
  y += 0.5;
  check_values(y, {11.5, 12.5});
  check_values(x, {1, 2});
  backward(sum(y));
  check_values(x.grad(), {1, 1});
  Tensor row = doubles({1, 2}, {2});
  const Tensor rows = Tensor::zeros({3, 2}, DType::float64);
  check_error([&] { row += rows; }, {"[+=]", "[3, 2]", "[2]", "a = a + b"});
  check_values(row, {1, 2});
}
