#include "support/test.h"

using Inputs = std::vector<Tensor>;

// x^3 with a gradient of the caller's choice.
Tensor cube_with(const Tensor& x, GradientFunction gradient) {
  return record("cube", pow(x.detach(), 3), {x}, std::move(gradient));
}

Tensor square_slope(const Tensor& x, const Tensor& grad) { return 3.0 * (grad * x * x); }

GradientCheckResult check_cube(const GradientFunction& gradient) {
  return check_gradients([&](const Inputs& in) { return cube_with(in[0], gradient); },
                         {leaf(doubles({0.5, -1, 2}, {3}))});
}

TEST_CASE("a correct gradient passes with a small error") {
  const GradientCheckResult result = check_cube(
      [](auto inputs, const Tensor& grad) { return Inputs{square_slope(inputs[0], grad)}; });
  CHECK(result.passed);
  CHECK(result.elements == 3);
  CHECK(result.largest_error < 1e-8);
  CHECK(result.worst.empty());
}

TEST_CASE("a wrong gradient fails, and its worst element is named") {
  struct Row {
    double factor;
    Index element;  // the one that is changed as well
    double change;
    std::vector<std::string> parts;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Row> rows{
      {1.001, 0, 0, {"input 0", "element ", "backward gives", "central differences"}},
      {1, 1, 1e-3, {"input 0", "element 1"}},
      {-1, 0, 0, {"input 0"}},
      {1.5, 0, nan, {"input 0", "element 0", "nan"}}};  // no later element hides NaN
  for (const Row& row : rows) {
    const GradientCheckResult result = check_cube([&](auto inputs, const Tensor& grad) {
      Tensor slope = row.factor * square_slope(inputs[0], grad);
      slope.data<double>()[row.element] += row.change;
      return Inputs{slope};
    });
    CAPTURE(row.factor, row.change);
    CHECK_FALSE(result.passed);
    CHECK(result.elements == 3);
    CHECK(mentions(result.worst, row.parts));
    CHECK((row.factor != 1.001 || result.largest_error == Approx(0.001).epsilon(1e-3)));
    CHECK(std::isnan(result.largest_error) == std::isnan(row.change));
  }
}

TEST_CASE("a gradient that misses a term fails") {
  // d(a b) / db is forgotten.
  const auto half_product = [](const Inputs& in) {
    return record("product", in[0].detach() * in[1].detach(), {in[0], in[1]},
                  [](auto inputs, const Tensor& grad) {
                    return Inputs{grad * inputs[1], Tensor()};
                  });
  };
  const GradientCheckResult result =
      check_gradients(half_product, {leaf(doubles({2}, {1})), leaf(doubles({3}, {1}))});
  CHECK_FALSE(result.passed);
  CHECK(mentions(result.worst, {"input 1", "element 0", "backward gives 0"}));
  CHECK(result.largest_error == Approx(1));
}

TEST_CASE("an op that forgot its history fails") {
  const auto forgetful = [](const Inputs& in) { return in[0].detach() * 2.0; };
  CHECK_FALSE(check_gradients(forgetful, {leaf(doubles({1}, {1}))}).passed);
}

TEST_CASE("gradients that arrive at the wrong elements of a view fail") {
  // A transpose whose backward forgets to transpose back.
  const auto twisted = [](const Inputs& in) {
    return record("twisted", transpose(in[0].detach()), {in[0]},
                  [](auto, const Tensor& grad) { return Inputs{grad}; });
  };
  CHECK_FALSE(check_gradients(twisted, {leaf(noise({3, 3}, 1))}).passed);
}

TEST_CASE("inputs of any type that require no gradient are not checked") {
  const GradientCheckResult result =
      check_gradients([](const Inputs& in) { return in[0] * convert(in[1], DType::float64); },
                      {leaf(doubles({1, 2}, {2})), ints({3, 4}, {2})});
  CHECK(result.passed);
  CHECK(result.elements == 2);
}

TEST_CASE("float32 inputs are refused") {
  check_error(
      [] { check_gradients([](const Inputs& in) { return in[0]; }, {leaf(floats({1}, {1}))}); },
      {"[check_gradients]", "float64", "float32"});
}

TEST_CASE("the inputs are left as they were") {
  const Tensor x = leaf(noise({4, 4}, 2));
  const Tensor before = x.clone();
  check_gradients([](const Inputs& in) { return exp(in[0]); }, {x});
  CHECK(same_bits(x, before));
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("with a sample size only that many elements of each input are checked") {
  const GradientCheckOptions sample{.elements_per_input = 5};
  const auto scaled = [](const Inputs& in) { return in[0] * 2.0; };
  CHECK(check_gradients(scaled, {leaf(noise({100}, 3))}, sample).elements == 5);
  CHECK(check_gradients(scaled, {leaf(noise({4}, 3))}, sample).elements == 4);
}

TEST_CASE("the tolerances decide what passes") {
  const auto slightly_off = [](const Inputs& in) {
    return cube_with(in[0], [](auto inputs, const Tensor& grad) {
      return Inputs{1.001 * square_slope(inputs[0], grad)};
    });
  };
  const Tensor x = leaf(doubles({1, 2}, {2}));
  CHECK_FALSE(check_gradients(slightly_off, {x}, {.relative_tolerance = 1e-4}).passed);
  CHECK(check_gradients(slightly_off, {x}, {.relative_tolerance = 2e-3}).passed);
  CHECK(check_gradients(slightly_off, {x}, {.absolute_tolerance = 1}).passed);
}

TEST_CASE("a gradient of exactly 0 counts as no error even without an absolute tolerance") {
  const auto constant = [](const Inputs& in) { return in[0] * 0.0; };
  const GradientCheckResult result =
      check_gradients(constant, {leaf(doubles({1}, {1}))}, {.absolute_tolerance = 0});
  CHECK(result.passed);
  CHECK(result.largest_error == 0);
}

TEST_CASE("inputs may be views with any strides, and outputs of any shape") {
  const Tensor x = leaf(transpose(noise({3, 4}, 4)));
  CHECK_FALSE(x.is_contiguous());
  const GradientCheckResult result =
      check_gradients([](const Inputs& in) { return exp(in[0]) * in[0]; }, {x});
  CHECK(result.passed);
  CHECK(result.elements == 12);
}
