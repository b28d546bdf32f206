#include "support/test.h"

namespace softmax_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kLn2 = std::log(2.0);
const double kLn3 = std::log(3.0);

TEST_CASE("softmax turns scores into probabilities") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float32 ? 1e-7 : 1e-15;
    const Tensor x = convert(doubles({0, kLn2, kLn3, 5, 5, 5}, {2, 3}), dtype);
    check_values(softmax(x), {1.0 / 6, 1.0 / 3, 0.5, 1.0 / 3, 1.0 / 3, 1.0 / 3}, tolerance);
    CHECK(softmax(x).dtype() == dtype);
  }
}

TEST_CASE("softmax works over any axis") {
  const Tensor x = doubles({0, kLn2, kLn3, 0}, {2, 2});
  check_values(softmax(x, 0), {0.25, 2.0 / 3, 0.75, 1.0 / 3}, 1e-15);
  check_values(softmax(transpose(x), 1), {0.25, 0.75, 2.0 / 3, 1.0 / 3}, 1e-15);
  const Tensor cube = noise({2, 3, 4}, 1);
  check_values(sum(softmax(cube, 1), {.axes = {1}}), std::vector<double>(8, 1), 1e-15);
}

TEST_CASE("softmax neither overflows nor underflows") {
  check_values(softmax(floats({1000, 1000}, {2})), {0.5, 0.5});
  check_values(softmax(floats({-1000, -1000, -2000}, {3})), {0.5, 0.5, 0});
  check_values(softmax(doubles({1e300, 0}, {2})), {1, 0});
}

TEST_CASE("softmax gives hidden scores 0 and a row without any visible score zeros") {
  check_values(softmax(doubles({-kInfinity, 0, -kInfinity, -kInfinity}, {2, 2})), {0, 1, 0, 0});
}

TEST_CASE("NaN is not hidden by softmax") {
  check_values(softmax(doubles({kNaN, 0}, {2})), {kNaN, kNaN});
  check_values(softmax(doubles({kNaN, kNaN}, {2})), {kNaN, kNaN});
  check_values(softmax(doubles({-kInfinity, kNaN}, {2})), {kNaN, kNaN});
  check_values(log_softmax(doubles({kNaN, 0}, {2})), {kNaN, kNaN});
  check_values(masked_softmax(doubles({kNaN, 0}, {2}), bools({false, true}, {2})), {kNaN, kNaN});
}

TEST_CASE("softmax keeps empty and single elements") {
  CHECK(softmax(Tensor::zeros({0, 3})).shape() == Shape{0, 3});
  CHECK(softmax(Tensor::zeros({3, 0})).shape() == Shape{3, 0});
  check_values(softmax(doubles({-7, 9}, {2, 1})), {1, 1});
  check_values(log_softmax(doubles({-7, 9}, {2, 1})), {0, 0});
}

TEST_CASE("log_softmax is the logarithm of softmax, also far from the maximum") {
  check_values(log_softmax(doubles({0, kLn2, kLn3}, {3})), {-std::log(6.0), -kLn3, -kLn2}, 1e-15);
  check_values(log_softmax(doubles({1000, 0}, {2})), {0, -1000});
  check_values(log_softmax(doubles({0, kLn2, kLn3, 0}, {2, 2}), 0),
               {std::log(0.25), std::log(2.0 / 3), std::log(0.75), -kLn3}, 1e-15);
  check_values(log_softmax(doubles({0, -kInfinity}, {2})), {0, -kInfinity});
}

TEST_CASE("masked_softmax distributes the probability over the visible scores") {
  const Tensor x = doubles({0, kLn2, 50, 7, 1, 2}, {2, 3});
  const Tensor mask = bools({false, false, true, true, true, true}, {2, 3});
  check_values(masked_softmax(x, mask), {1.0 / 3, 2.0 / 3, 0, 0, 0, 0}, 1e-15);
  check_values(masked_softmax(x, bools({true, true, false}, {3})), {0, 0, 1, 0, 0, 1});
  check_values(masked_softmax(x, bools({true, false}, {2, 1})), [&] {
    std::vector<double> expected = softmax(x).to_vector();
    expected[0] = expected[1] = expected[2] = 0;
    return expected;
  }());
}

TEST_CASE("hidden scores get probability 0 and no gradient whatever their value") {
  const Tensor x = leaf(doubles({1, kNaN, 2, kInfinity, kNaN, 5}, {2, 3}));
  const Tensor mask = bools({false, true, false, true, true, true}, {2, 3});
  const Tensor y = masked_softmax(x, mask);
  CHECK(y.to_vector()[1] == 0);
  backward(y, {.gradient = doubles({1, 1e300, 0, 4, 5, 6}, {2, 3})});
  const double slope = 1 / (2 + std::exp(1.0) + std::exp(-1.0));
  check_values(x.grad(), {slope, 0, -slope, 0, 0, 0}, 1e-15);
}

TEST_CASE("the softmax family names itself in errors") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK(mentions(error_of([&] { softmax(x, 2); }), {"[softmax]", "axis 2"}));
  CHECK(mentions(error_of([&] { log_softmax(x, -3); }), {"[log_softmax]", "axis -3"}));
  CHECK(mentions(error_of([] { softmax(Tensor::scalar(1)); }), {"[softmax]", "one axis"}));
  CHECK(mentions(error_of([] { log_softmax(Tensor()); }), {"[log_softmax]", "one axis"}));
  CHECK(mentions(error_of([] { softmax(ints({1}, {1})); }), {"[softmax]", "int32"}));
  CHECK(mentions(error_of([] { log_softmax(ints({1}, {1})); }), {"[log_softmax]", "int32"}));
  CHECK(mentions(error_of([&] { masked_softmax(x, x); }), {"[masked_softmax]", "mask", "bool"}));
  CHECK(mentions(error_of([&] {
                   masked_softmax(x, bools({true, true}, {2}));
                 }),
                 {"[masked_softmax]", "[2]", "[2, 3]"}));
  CHECK(mentions(error_of([&] {
                   masked_softmax(x, Tensor::zeros({5, 2, 3}, DType::boolean));
                 }),
                 {"[masked_softmax]", "[5, 2, 3]", "[2, 3]"}));
  CHECK(mentions(error_of([] { masked_softmax(ints({1}, {1}), bools({true}, {1})); }),
                 {"[masked_softmax]", "int32"}));
}
}  // namespace softmax_test
