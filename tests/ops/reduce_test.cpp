#include "support/test.h"

struct NamedReduction {
  std::string name;
  Tensor (*run)(const Tensor&, const ReduceOptions&);
};

const std::vector<NamedReduction>& reductions() {
  static const std::vector<NamedReduction> all{
      {"sum", sum},
      {"mean", mean},
      {"var", [](const Tensor& x, const ReduceOptions& options) { return var(x, options); }},
      {"stddev", [](const Tensor& x, const ReduceOptions& options) { return stddev(x, options); }},
      {"max", max}};
  return all;
}

Tensor two_by_three() { return doubles({1, 2, 3, 4, 8, 0}, {2, 3}); }

TEST_CASE("sum and mean of float32 accumulate in float64") {
  const Tensor x = Tensor::full({10'000'000}, static_cast<double>(0.1F));
  CHECK(sum(x).item() == Approx(1e7 * static_cast<double>(0.1F)).epsilon(1e-7));
  CHECK(mean(x).item() == static_cast<double>(0.1F));
  CHECK(sum(floats({1e8F, 1, -1e8F}, {3})).item() == 1);
}

TEST_CASE("the sum of nothing is 0") {
  check_values(sum(doubles({}, {0})), {0});
  check_values(sum(doubles({}, {3, 0}), {.axes = {1}}), {0, 0, 0});
  check_values(sum(doubles({}, {0, 3}), {.axes = {0}}), {0, 0, 0});
  CHECK(sum(doubles({}, {0, 3}), {.axes = {1}}).shape() == Shape{0});
}

TEST_CASE("sum counts bool and int32 in int32, and mean gives float32") {
  const Tensor yes = bools({true, false, true, true}, {2, 2});
  CHECK(sum(yes).item() == 3);
  CHECK(sum(yes).dtype() == DType::int32);
  check_values(sum(yes, {.axes = {0}}), {2, 1});
  check_values(mean(yes, {.axes = {1}, .keepdim = true}), {0.5, 1});
  CHECK(mean(yes).dtype() == DType::float32);
  const Tensor wide = ints({2147483647, -2147483647, -1}, {3});
  CHECK(sum(wide).item() == -1);
  CHECK(sum(ints({-2147483647, -1}, {2})).item() == -2147483648.0);
  check_error([] { sum(ints({2147483647, 1}, {2})); }, {"[sum]", "int32", "convert", "float64"});
  CHECK(sum(Tensor::zeros({0}, DType::boolean)).item() == 0);
  check_error([] { mean(Tensor::zeros({0}, DType::int32)); }, {"[mean]", "[0]"});
}

TEST_CASE("stddev is the root of var, with gradient 0 where it is 0") {
  const Tensor x = leaf(doubles({1, 2, 3, 1, 1, 1}, {2, 3}));
  check_values(stddev(x, {.axes = {1}}, 0), {std::sqrt(2.0 / 3), 0}, 1e-15);
  check_values(stddev(x, {.axes = {1}}), {1, 0}, 1e-15);
  backward(sum(stddev(x, {.axes = {1}})));
  check_values(x.grad(), {-0.5, 0, 0.5, 0, 0, 0}, 1e-15);
}

TEST_CASE("max finds the largest element and NaN wins") {
  const Tensor x = two_by_three();
  CHECK(max(x).item() == 8);
  check_values(max(x, {.axes = {0}}), {4, 8, 3});
  check_values(max(x, {.axes = {1}, .keepdim = true}), {3, 8});
  check_values(max(doubles({1, kNaN, 3, 4}, {2, 2}), {.axes = {1}}), {kNaN, 4});
  check_values(max(doubles({kNaN, 1, 5, 4}, {2, 2}), {.axes = {1}}), {kNaN, 5});
  check_values(max(doubles({-kInfinity, -kInfinity}, {2})), {-kInfinity});
}

TEST_CASE("reductions name their op for axes that do not exist or come twice") {
  const Tensor x = Tensor::zeros({2, 3});
  for (const NamedReduction& one : reductions()) {
    const std::string name = "[" + one.name + "]";
    check_error([&] { one.run(x, {.axes = {2}}); }, {name, "axis 2", "2 axes"});
    check_error([&] { one.run(x, {.axes = {0, -2}}); }, {name, "axis -2", "twice"});
    check_error([&] { one.run(Tensor(), {}); }, {name, "undefined"});
    const bool takes_integers = one.name == "sum" || one.name == "mean";
    CHECK((error_of([&] { one.run(ints({1, 2}, {2}), {}); }) == "no error") == takes_integers);
  }
}

TEST_CASE("mean, var and max of nothing are errors unless there is no output either") {
  const Tensor nothing = Tensor::zeros({3, 0});
  check_error([&] { mean(nothing, {.axes = {1}}); }, {"[mean]", "[3, 0]"});
  check_error([&] { mean(nothing); }, {"[mean]", "[3, 0]"});
  check_error([&] { max(nothing, {.axes = {1}}); }, {"[max]", "[3, 0]"});
  check_error([&] { var(nothing, {.axes = {1}}, 0); }, {"[var]", "0"});
  check_error([&] { stddev(nothing, {.axes = {1}}, 0); }, {"[stddev]", "0"});
  check_error([] { var(Tensor::zeros({3, 1}), {.axes = {1}}); }, {"[var]", "more than 1", "got 1"});
  CHECK(mean(nothing, {.axes = {0}}).shape() == Shape{0});
  CHECK(max(nothing, {.axes = {0}}).shape() == Shape{0});
  CHECK(var(nothing, {.axes = {0}}).shape() == Shape{0});
}

TEST_CASE("argmax gives the first largest element of an axis or of all") {
  const Tensor x = doubles({1, 5, 5, 7, -1, 7}, {2, 3});
  check_values(argmax(x, 1), {1, 0});
  check_values(argmax(x, 0), {1, 0, 1});
  check_values(argmax(transpose(x), -1), {1, 0, 1});
  CHECK(argmax(x).item() == 3);
  CHECK(argmax(x).dtype() == DType::int32);
  CHECK(argmax(x, 1, true).shape() == Shape{2, 1});
  CHECK(argmax(x, std::nullopt, true).shape() == Shape{1, 1});
  CHECK(argmax(Tensor::scalar(3)).item() == 0);
  check_values(argmax(doubles({1, kNaN, 9, kNaN}, {4}), 0), {1});
  check_values(argmax(ints({3, 9, 9}, {3}), 0), {1});
  check_values(argmax(bools({false, true}, {2}), 0), {1});
  CHECK(argmax(Tensor::zeros({0, 3}), 1).shape() == Shape{0});
}
