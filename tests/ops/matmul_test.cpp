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

TEST_CASE("matmul multiplies matrices in float32 and float64") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor a = convert(doubles({1, 2, 3, 4, 5, 6}, {2, 3}), dtype);
    const Tensor b = convert(doubles({1, 0, 2, -1, 0, 3}, {3, 2}), dtype);
    const Tensor c = matmul(a, b);
    CHECK(c.dtype() == dtype);
    CHECK(c.shape() == Shape{2, 2});
    check_values(c, {5, 7, 14, 13});
  }
}

TEST_CASE(
    "in matmul a vector is a row on the left or a column on the right and its axis is removed") {
  const Tensor v = doubles({1, 10, 100}, {3});
  const Tensor m = doubles({1, 2, 3, 4, 5, 6}, {3, 2});
  CHECK(matmul(v, v).rank() == 0);
  CHECK(matmul(v, v).item() == 10101);
  check_values(matmul(v, m), {531, 642});
  CHECK(matmul(v, m).shape() == Shape{2});
  check_values(matmul(transpose(m), v), {531, 642});
  CHECK(matmul(noise({5, 2, 3}, 1), v).shape() == Shape{5, 2});
  CHECK(matmul(v, noise({5, 3, 2}, 1)).shape() == Shape{5, 2});
}

TEST_CASE("leading axes are batches, which broadcast") {
  const Tensor a = noise({4, 2, 3}, 1);
  const Tensor b = noise({4, 3, 5}, 2);
  const Tensor c = matmul(a, b);
  CHECK(c.shape() == Shape{4, 2, 5});
  for (Index i = 0; i < 4; ++i) {
    check_close(matrix(c, i), naive_product(matrix(a, i), matrix(b, i)), 1e-14);
  }
  const Tensor shared = matmul(a, noise({3, 5}, 3));
  check_close(matrix(shared, 2), naive_product(matrix(a, 2), noise({3, 5}, 3)), 1e-14);
  const Tensor outer = matmul(noise({2, 1, 2, 3}, 4), b);
  CHECK(outer.shape() == Shape{2, 4, 2, 5});
  const Tensor second = matrix(reshape(noise({2, 1, 2, 3}, 4), {2, 2, 3}), 1);
  check_close(matrix(reshape(outer, {8, 2, 5}), 4 + 3), naive_product(second, matrix(b, 3)), 1e-14);
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

TEST_CASE("batches of views are multiplied matrix by matrix") {
  const Tensor x = noise({3, 4, 2, 5}, 1);  // as [B, T, H, D]
  const Tensor q = permute(x, {0, 2, 1, 3});
  const Tensor scores = matmul(q, transpose(q));
  CHECK(scores.shape() == Shape{3, 2, 4, 4});
  const Tensor flat = reshape(scores, {6, 4, 4});
  const Tensor one = matrix(reshape(q, {6, 4, 5}), 3);
  check_close(matrix(flat, 3), naive_product(one, transpose(one)), 1e-14);
  const Tensor repeated = matmul(expand(noise({2, 3}, 2), {4, 2, 3}), noise({4, 3, 2}, 3));
  check_close(matrix(repeated, 3), naive_product(noise({2, 3}, 2), matrix(noise({4, 3, 2}, 3), 3)),
              1e-14);
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

TEST_CASE("large products agree with three loops") {
  const Tensor a = noise({130, 70}, 1);
  const Tensor b = noise({70, 150}, 2);
  check_close(matmul(a, b), naive_product(a, b), 1e-12);
  const Tensor narrow = matmul(convert(a, DType::float32), convert(b, DType::float32));
  check_close(convert(narrow, DType::float64), naive_product(a, b), 2e-5);
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
  CHECK(mentions(error_of([&] { matmul(x, Tensor()); }), {"[matmul]"}));
  CHECK(mentions(error_of([&] {
                   matmul(x, Tensor::zeros({2, 2}, DType::float64));
                 }),
                 {"[matmul]", "float32", "float64"}));
  const Tensor ids = ints({1}, {1, 1});
  CHECK(mentions(error_of([&] { matmul(ids, ids); }), {"[matmul]", "int32"}));
}

TEST_CASE("linear is a product with the transposed weight plus a bias") {
  const Tensor x = doubles({1, 2, 3, 4}, {2, 2});
  const Tensor weight = doubles({1, 0, 0, 1, 1, 1}, {3, 2});
  const Tensor bias = doubles({10, 20, 30}, {3});
  check_values(linear(x, weight, bias), {11, 22, 33, 13, 24, 37});
  check_values(linear(x, weight), {1, 2, 3, 3, 4, 7});
  CHECK(linear(doubles({1, 2}, {2}), weight).shape() == Shape{3});
  CHECK(linear(noise({4, 5, 2}, 1), weight, bias).shape() == Shape{4, 5, 3});
}

TEST_CASE("linear equals matmul and add, forward and backward") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float32 ? 1e-4 : 1e-12;
    const std::vector<Tensor> one{leaf(noise({3, 40, 30}, 1, dtype)),
                                  leaf(noise({20, 30}, 2, dtype)), leaf(noise({20}, 3, dtype))};
    std::vector<Tensor> other;
    for (const Tensor& x : one) {
      other.push_back(leaf(x.clone()));
    }
    const Tensor fused = linear(one[0], one[1], one[2]);
    const Tensor plain = matmul(other[0], transpose(other[1])) + other[2];
    check_close(fused, plain.detach(), tolerance);
    const Tensor gradient = noise({3, 40, 20}, 4, dtype);
    backward(fused, {.gradient = gradient});
    backward(plain, {.gradient = gradient});
    for (std::size_t i = 0; i < one.size(); ++i) {
      check_close(one[i].grad(), other[i].grad(), tolerance);
    }
  }
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
  CHECK(mentions(error_of([&] {
                   linear(x, Tensor::zeros({3, 2}));
                 }),
                 {"[linear]", "[5, 3]", "[3, 2]"}));
  CHECK(mentions(error_of([&] { linear(x, Tensor::zeros({3})); }), {"[linear]", "two axes"}));
  CHECK(mentions(error_of([&] { linear(x, weight, Tensor::zeros({3})); }),
                 {"[linear]", "bias", "[2]", "[3]"}));
  CHECK(mentions(error_of([&] { linear(Tensor::scalar(1), weight); }), {"[linear]", "one axis"}));
  CHECK(mentions(error_of([&] { linear(Tensor(), weight); }), {"[linear]"}));
  CHECK(mentions(error_of([&] { linear(x, weight, Tensor::zeros({2}, DType::float64)); }),
                 {"[linear]", "float64"}));
}
}  // namespace matmul_test
