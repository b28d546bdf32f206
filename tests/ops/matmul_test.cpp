#include "support/test.h"

namespace matmul_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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
  const Tensor wide = Tensor::zeros({2, 2}, DType::float64);
  check_error([&] { matmul(x, wide); }, {"[matmul]", "float32", "float64"});
  const Tensor ids = ints({1}, {1, 1});
  check_error([&] { matmul(ids, ids); }, {"[matmul]", "int32"});
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
