#include "support/test.h"

namespace matmul_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Reference: the sum over k of a[i, k] b[k, j] by three loops; both operands have two axes.
Tensor naive_product(const Tensor& a, const Tensor& b) {
  Tensor c = Tensor::zeros({a.size(0), b.size(1)}, DType::float64);
  const std::vector<double> left = a.to_vector();
  const std::vector<double> right = b.to_vector();
  for (Index i = 0; i < a.size(0); ++i) {
    for (Index j = 0; j < b.size(1); ++j) {
      for (Index k = 0; k < a.size(1); ++k) {
        c.data<double>()[i * b.size(1) + j] += left[static_cast<std::size_t>(i * a.size(1) + k)] *
                                               right[static_cast<std::size_t>(k * b.size(1) + j)];
      }
    }
  }
  return c;
}

// Returns matrix i of a batch with one leading axis.
Tensor matrix(const Tensor& batch, Index i) {
  return reshape(slice(batch, 0, i, i + 1), {batch.size(1), batch.size(2)});
}

TEST_CASE("operands may be transposed, sliced or expanded views") {
  const Tensor x = noise({6, 8}, 5);
  const Tensor y = noise({6, 8}, 6);
  const auto check = [](const Tensor& a, const Tensor& b) {
    check_close(matmul(a, b), naive_product(a, b), 1e-13);
  };
  check(x, transpose(y));
  check(transpose(x), y);
  check(transpose(x), transpose(noise({3, 6}, 7)));
  check(slice(x, 1, 0, 8, 2), slice(y, 0, 0, 4));
  check(slice(x, 0, 1, 6, 2), transpose(slice(y, 1, 0, 8)));
  check(expand(noise({1, 6}, 8), {3, 6}), y);
  check(expand(noise({6, 1}, 8), {6, 6}), y);
  check(x, expand(noise({8, 1}, 9), {8, 4}));
  check(slice(x, 1, 3, 4), slice(y, 0, 2, 3));
  check(slice(x, 0, 3, 4), transpose(y));
  check(transpose(slice(x, 1, 3, 4)), y);
}

TEST_CASE("products with empty operands are zeros or empty") {
  check_values(matmul(Tensor::zeros({2, 0}), Tensor::zeros({0, 2})), {0, 0, 0, 0});
  CHECK(matmul(Tensor::zeros({0, 3}), Tensor::zeros({3, 2})).shape() == Shape{0, 2});
  CHECK(matmul(Tensor::zeros({2, 3}), Tensor::zeros({3, 0})).shape() == Shape{2, 0});
  CHECK(matmul(Tensor::zeros({0, 2, 3}), Tensor::zeros({3, 4})).shape() == Shape{0, 2, 4});
  CHECK(matmul(Tensor::zeros({5, 2, 0}), Tensor::zeros({0, 4})).shape() == Shape{5, 2, 4});
  CHECK(matmul(Tensor::zeros({4, 0, 3}), Tensor::zeros({4, 3, 2})).shape() == Shape{4, 0, 2});
  CHECK(matmul(Tensor::zeros({0}), Tensor::zeros({0})).item() == 0);
}

TEST_CASE("NaN in one row stays in that row") {
  const Tensor c = matmul(doubles({1, kNaN, 1, 1}, {2, 2}), doubles({1, 0, 0, 1}, {2, 2}));
  check_values(c, {kNaN, kNaN, 1, 1});
}

TEST_CASE("matmul names shapes that cannot be multiplied") {
  const auto message = [](const Shape& a, const Shape& b) {
    return error_of([&] { matmul(Tensor::zeros(a), Tensor::zeros(b)); });
  };
  CHECK(mentions(message({4, 8}, {9, 2}), {"[matmul]", "inner sizes", "[4, 8]", "[9, 2]"}));
  CHECK(mentions(message({2, 4, 8}, {9, 2}), {"[matmul]", "[2, 4, 8]", "[9, 2]"}));
  CHECK(mentions(message({3}, {4}), {"[matmul]", "inner sizes"}));
  CHECK(mentions(message({2, 3, 4}, {5, 4, 2}), {"[matmul]", "broadcast", "[2]", "[5]"}));
  CHECK(mentions(message({}, {3}), {"[matmul]", "at least one axis"}));
  CHECK(mentions(message({3}, {}), {"[matmul]", "at least one axis"}));
}

TEST_CASE("matmul refuses undefined operands and different or unsupported types") {
  const Tensor x = Tensor::zeros({2, 2});
  check_error([&] { matmul(x, Tensor()); }, {"[matmul]"});
  check_error(
      [&] {
        matmul(x, Tensor::zeros({2, 2}, DType::float64));
      },
      {"[matmul]", "float32", "float64"});
  const Tensor ids = ints({1}, {1, 1});
  check_error([&] { matmul(ids, ids); }, {"[matmul]", "int32"});
}

TEST_CASE("linear works on empty and strided operands") {
  const Tensor bias = doubles({5, 6}, {2});
  check_values(
      linear(Tensor::zeros({1, 0}, DType::float64), Tensor::zeros({2, 0}, DType::float64), bias),
      {5, 6});
  CHECK(linear(Tensor::zeros({3, 0}), Tensor::zeros({2, 0})).shape() == Shape{3, 2});
  CHECK(linear(Tensor::zeros({0, 4}), Tensor::zeros({2, 4})).shape() == Shape{0, 2});
  CHECK(linear(Tensor::zeros({3, 4}), Tensor::zeros({0, 4})).shape() == Shape{3, 0});
  const Tensor x = noise({4, 3}, 1);
  const Tensor weight = noise({4, 2}, 2);
  check_close(linear(transpose(x), transpose(weight), slice(noise({4}, 3), 0, 0, 4, 2)),
              matmul(transpose(x), weight) + slice(noise({4}, 3), 0, 0, 4, 2), 1e-14);
}

TEST_CASE("linear names the argument that it refuses") {
  const Tensor x = Tensor::zeros({5, 3});
  const Tensor weight = Tensor::zeros({2, 3});
  check_error([&] { linear(x, Tensor::zeros({3, 2})); }, {"[linear]", "[5, 3]", "[3, 2]"});
  check_error([&] { linear(x, Tensor::zeros({3})); }, {"[linear]", "two axes"});
  check_error([&] { linear(x, weight, Tensor::zeros({3})); }, {"[linear]", "bias", "[2]", "[3]"});
  check_error([&] { linear(Tensor::scalar(1), weight); }, {"[linear]", "one axis"});
  check_error([&] { linear(Tensor(), weight); }, {"[linear]"});
  check_error([&] { linear(x, weight, Tensor::zeros({2}, DType::float64)); },
              {"[linear]", "float64"});
}
}  // namespace matmul_test
