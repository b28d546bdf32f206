#include "support/test.h"

namespace softmax_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("softmax neither overflows nor underflows") {
  check_values(softmax(floats({1000, 1000}, {2})), {0.5, 0.5});
  check_values(softmax(floats({-1000, -1000, -2000}, {3})), {0.5, 0.5, 0});
  check_values(softmax(doubles({1e300, 0}, {2})), {1, 0});
  check_values(log_softmax(doubles({1000, 0}, {2})), {0, -1000});
  check_values(log_softmax(doubles({0, -kInfinity}, {2})), {0, -kInfinity});
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
  check_error([&] { softmax(x, 2); }, {"[softmax]", "axis 2"});
  check_error([&] { log_softmax(x, -3); }, {"[log_softmax]", "axis -3"});
  check_error([] { softmax(Tensor::scalar(1)); }, {"[softmax]", "one axis"});
  check_error([] { log_softmax(Tensor()); }, {"[log_softmax]", "one axis"});
  check_error([] { softmax(ints({1}, {1})); }, {"[softmax]", "int32"});
  check_error([] { log_softmax(ints({1}, {1})); }, {"[log_softmax]", "int32"});
  check_error([&] { masked_softmax(x, x); }, {"[masked_softmax]", "mask", "bool"});
  for (const Shape& shape : {Shape{2}, Shape{5, 2, 3}}) {
    const Tensor mask = Tensor::zeros(shape, DType::boolean);
    check_error([&] { masked_softmax(x, mask); },
                {"[masked_softmax]", concat_text(shape), "[2, 3]"});
  }
  check_error([] { masked_softmax(ints({1}, {1}), bools({true}, {1})); },
              {"[masked_softmax]", "int32"});
}
}  // namespace softmax_test
