#include "support/test.h"

struct Comparison {
  std::string name;
  Tensor (*tensors)(const Tensor&, const Tensor&);
  Tensor (*number)(const Tensor&, double);
  std::vector<double> expected;  // for 1, 2, 3 and NaN beside 2
};

const std::vector<Comparison>& comparisons() {
  static const std::vector<Comparison> all{
      {"equal", equal, equal, {0, 1, 0, 0}},
      {"not_equal", not_equal, not_equal, {1, 0, 1, 1}},
      {"less", less, less, {1, 0, 0, 0}},
      {"less_equal", less_equal, less_equal, {1, 1, 0, 0}},
      {"greater", greater, greater, {0, 0, 1, 0}},
      {"greater_equal", greater_equal, greater_equal, {0, 1, 1, 0}}};
  return all;
}

TEST_CASE("comparisons give bool for every type and broadcast") {
  const Tensor x = doubles({1, 2, 3, kNaN}, {4});
  for (const Comparison& one : comparisons()) {
    INFO(one.name);
    CHECK(one.tensors(x, x).dtype() == DType::boolean);
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      check_values(one.number(convert(x, dtype), 2), one.expected);
      check_values(one.tensors(convert(x, dtype), Tensor::full({1, 1}, 2, dtype)), one.expected);
    }
    const std::vector<double> of_integers(one.expected.begin(), one.expected.end() - 1);
    check_values(one.number(ints({1, 2, 3}, {3}), 2), of_integers);
    check_values(one.tensors(leaf(slice(x, 0, 0, 3)), ints({2}, {1})), of_integers);
    CHECK(one.number(Tensor::zeros({0, 3}), 2).shape() == Shape{0, 3});
    check_error([&] { one.tensors(x, Tensor::zeros({3})); }, {one.name, "[3]"});
    check_error([&] { one.tensors(x, Tensor()); }, {one.name, "undefined"});
    check_error([&] { one.number(Tensor(), 1); }, {one.name, "undefined"});
  }
}

TEST_CASE("a number is compared in the type of a floating tensor and exactly with integers") {
  check_values(equal(floats({0.1F}, {1}), 0.1), {1});
  check_values(less(ints({0, 1}, {2}), 0.5), {1, 0});
  check_values(equal(bools({true, false}, {2}), 1), {1, 0});
  check_values(equal(ints({16'777'217}, {1}), floats({16'777'216}, {1})), {0});
}

TEST_CASE("logic takes numbers other than 0 as true") {
  const Tensor a = floats({0, 0, 0.5F, static_cast<float>(kNaN)}, {4});
  const Tensor b = ints({0, 3, 0, 1}, {4});
  check_values(logical_and(a, b), {0, 0, 0, 1});
  check_values(logical_or(a, b), {0, 1, 1, 1});
  check_values(logical_not(a), {1, 1, 0, 0});
  check_values(logical_not(causal_mask(2)), {1, 0, 1, 1});
  CHECK(logical_or(bools({true}, {1, 1}), b).shape() == Shape{1, 4});
  check_error([&] { logical_and(a, Tensor::ones({3})); }, {"[logical_and]"});
  check_error([] { logical_not(Tensor()); }, {"[logical_not]", "undefined"});
}

TEST_CASE("allclose compares by an absolute and a relative tolerance") {
  const Tensor one = doubles({1}, {1});
  CHECK(allclose(one, doubles({1 + 0.9e-5}, {1})));
  CHECK_FALSE(allclose(one, doubles({1 + 1.1e-5}, {1})));
  CHECK(allclose(one, doubles({1.1}, {1}), {.relative = 0, .absolute = 0.11}));
  CHECK(allclose(doubles({0}, {1}), doubles({1e-9}, {1})));
  CHECK(allclose(Tensor::ones({2, 3}), Tensor::ones({1})));
  CHECK(allclose(Tensor::zeros({0}), Tensor::zeros({0})));
  const Tensor infinite = doubles({kInfinity}, {1});
  CHECK(allclose(infinite, infinite));
  CHECK_FALSE(allclose(infinite, one));
  CHECK_FALSE(allclose(one, infinite));
  CHECK_FALSE(allclose(infinite, doubles({-kInfinity}, {1})));
  const Tensor nan = doubles({kNaN}, {1});
  CHECK_FALSE(allclose(nan, nan));
  CHECK(allclose(nan, nan, {.equal_nan = true}));
  CHECK_FALSE(allclose(nan, one, {.equal_nan = true}));
  check_error([&] { allclose(one, Tensor()); }, {"[allclose]", "undefined"});
}
