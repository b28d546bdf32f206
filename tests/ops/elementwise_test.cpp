#include "support/test.h"

namespace elementwise_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct BinaryOp {
  std::string name;
  Tensor (*run)(const Tensor&, const Tensor&);
};

struct UnaryOp {
  std::string name;
  Tensor (*run)(const Tensor&);
};

const std::vector<BinaryOp>& binary_ops() {
  static const std::vector<BinaryOp> ops{{"add", add}, {"sub", sub}, {"mul", mul}, {"div", div}};
  return ops;
}

const std::vector<UnaryOp>& unary_ops() {
  static const std::vector<UnaryOp> ops{
      {"neg", neg},
      {"pow", [](const Tensor& x) { return pow(x, 2); }},
      {"exp", exp},
      {"log", log},
      {"sqrt", sqrt},
      {"tanh", tanh},
      {"relu", relu},
      {"sigmoid", sigmoid},
      {"silu", silu},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x, GeluForm::erf); }}};
  return ops;
}

TEST_CASE("arithmetic works element by element in float32 and float64") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor a = convert(doubles({6, -4, 0.5}, {3}), dtype);
    const Tensor b = convert(doubles({2, 8, -0.25}, {3}), dtype);
    CHECK((a + b).dtype() == dtype);
    check_values(a + b, {8, 4, 0.25});
    check_values(a - b, {4, -12, 0.75});
    check_values(a * b, {12, -32, -0.125});
    check_values(a / b, {3, -0.5, -2});
    check_values(-a, {-6, 4, -0.5});
    check_values(a + 1.5, {7.5, -2.5, 2});
    check_values(a - 1.5, {4.5, -5.5, -1});
    check_values(a * -2.0, {-12, 8, -1});
    check_values(-2.0 * a, {-12, 8, -1});
    check_values(a / 2.0, {3, -2, 0.25});
  }
}

TEST_CASE("operands broadcast against each other") {
  const Tensor column = doubles({1, 2}, {2, 1});
  const Tensor row = doubles({10, 20, 30}, {3});
  const Tensor sums = column + row;
  CHECK(sums.shape() == Shape{2, 3});
  check_values(sums, {11, 21, 31, 12, 22, 32});
  check_values(row - column, {9, 19, 29, 8, 18, 28});
  check_values(Tensor::scalar(2, DType::float64) * row, {20, 40, 60});
  check_values(doubles({1, 2}, {2, 1, 1}) * doubles({3, 4}, {1, 2, 1}), {3, 4, 6, 8});
  CHECK((doubles({}, {0, 1}) + row).shape() == Shape{0, 3});
}

TEST_CASE("operands may be views with any strides") {
  const Tensor x = doubles({1, 2, 3, 4, 5, 6}, {2, 3});
  check_values(transpose(x) + transpose(x), {2, 8, 4, 10, 6, 12});
  check_values(slice(x, 1, 0, 3, 2) * doubles({10, 100}, {2}), {10, 300, 40, 600});
  check_values(expand(doubles({1, 2}, {2, 1}), {2, 3}) - x, {0, -1, -2, -2, -3, -4});
}

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

TEST_CASE("the results of arithmetic are new tensors") {
  const Tensor a = doubles({1, 2}, {2});
  const Tensor sum = a + a;
  CHECK(sum.data<double>() != a.data<double>());
  check_values(a, {1, 2});
}

TEST_CASE("arithmetic names its op and the shapes that do not broadcast") {
  for (const BinaryOp& op : binary_ops()) {
    const auto run = [&](const Tensor& a, const Tensor& b) {
      return error_of([&] { op.run(a, b); });
    };
    const std::string name = "[" + op.name + "]";
    const Tensor x = Tensor::zeros({2, 3});
    CHECK(mentions(run(x, Tensor::zeros({4})), {name, "[2, 3]", "[4]"}));
    CHECK(mentions(run(x, Tensor::zeros({2, 3}, DType::float64)), {name, "float32", "float64"}));
    CHECK(mentions(run(x, Tensor()), {name, "undefined"}));
    CHECK(mentions(run(Tensor(), x), {name, "undefined"}));
    const Tensor ids = ints({1}, {1});
    CHECK(mentions(run(ids, ids), {name, "float32 or float64", "int32"}));
  }
}

TEST_CASE("functions of one element name their op when they refuse an input") {
  for (const UnaryOp& op : unary_ops()) {
    const std::string name = "[" + op.name + "]";
    CHECK(mentions(error_of([&] { op.run(Tensor()); }), {name, "undefined"}));
    CHECK(mentions(error_of([&] { op.run(ints({1}, {1})); }), {name, "int32"}));
    CHECK(mentions(error_of([&] { op.run(Tensor::zeros({1}, DType::bfloat16)); }),
                   {name, "bfloat16"}));
  }
}

TEST_CASE("functions of one element keep shape and type, also without elements") {
  for (const UnaryOp& op : unary_ops()) {
    CHECK(op.run(Tensor::ones({2, 1, 3})).shape() == Shape{2, 1, 3});
    CHECK(op.run(Tensor::ones({2}, DType::float64)).dtype() == DType::float64);
    CHECK(op.run(Tensor::ones({0, 3})).shape() == Shape{0, 3});
    CHECK(op.run(Tensor::ones({})).rank() == 0);
  }
}

TEST_CASE("exp, log, sqrt, tanh and pow have their usual values") {
  check_values(exp(doubles({0, 1, -1}, {3})), {1, 2.718281828459045, 0.36787944117144233}, 1e-15);
  check_values(log(doubles({1, 2, 0}, {3})), {0, 0.6931471805599453, -kInfinity}, 1e-15);
  check_values(sqrt(doubles({0, 2, 9}, {3})), {0, 1.4142135623730951, 3}, 1e-15);
  check_values(tanh(doubles({0, 0.5, -20}, {3})), {0, 0.46211715726000973, -1}, 1e-15);
  check_values(pow(doubles({2, -2, 4}, {3}), 3), {8, -8, 64});
  check_values(pow(doubles({4}, {1}), -0.5), {0.5});
  check_values(pow(doubles({0, 5}, {2}), 0), {1, 1});
  check_values(exp(floats({1}, {1})), {2.7182818}, 1e-6);
}

TEST_CASE("functions outside their domain give NaN or infinity, never an error") {
  check_values(log(doubles({-1, kNaN}, {2})), {kNaN, kNaN});
  check_values(sqrt(doubles({-1}, {1})), {kNaN});
  check_values(doubles({1, -1, 0}, {3}) / doubles({0, 0, 0}, {3}), {kInfinity, -kInfinity, kNaN});
  check_values(exp(doubles({kInfinity, -kInfinity, kNaN}, {3})), {kInfinity, 0, kNaN});
}

TEST_CASE("sigmoid and silu have their usual values, far out too") {
  check_values(sigmoid(doubles({0, 2, -40, 800, -800}, {5})),
               {0.5, 0.8807970779778823, 4.248354255291589e-18, 1, 0}, 1e-15);
  check_values(silu(doubles({0, 2, -40, 800, -800}, {5})),
               {0, 1.7615941559557646, -1.6993417021166355e-16, 800, 0}, 1e-15);
}

TEST_CASE("relu cuts negative values, has slope 0 at 0 and lets NaN through") {
  const Tensor x = leaf(doubles({-2, 0, 3, kNaN}, {4}));
  check_values(relu(x), {0, 0, 3, kNaN});
  backward(relu(slice(x, 0, 0, 3)), {.gradient = doubles({5, 5, 5}, {3})});
  check_values(x.grad(), {0, 0, 5, 0});
}

TEST_CASE("pow with exponent 0 has slope 0 everywhere, also at 0") {
  const Tensor x = leaf(doubles({0, 2}, {2}));
  backward(sum(pow(x, 0)));
  check_values(x.grad(), {0, 0});
}

TEST_CASE("gelu has the values of its two published forms") {
  // PyTorch's values for -3, -1, 0, 0.5, 2.
  const std::vector<double> tanh_form{-0.0036373920817729943, -0.15880800939172324, 0,
                                      0.34571400982514394, 1.954597694087775};
  const std::vector<double> erf_form{-0.00404969409489031, -0.15865525393145707, 0,
                                     0.34573123063700656, 1.9544997361036416};
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-14;
    const Tensor x = convert(doubles({-3, -1, 0, 0.5, 2}, {5}), dtype);
    check_values(gelu(x), tanh_form, tolerance);
    check_values(gelu(x, GeluForm::tanh), tanh_form, tolerance);
    check_values(gelu(x, GeluForm::erf), erf_form, tolerance);
  }
  check_values(gelu(doubles({-40, 40, kNaN}, {3})), {0, 40, kNaN}, 1e-12);
  check_values(gelu(transpose(doubles({-1, 2, 0.5, -3}, {2, 2}))),
               {tanh_form[1], tanh_form[3], tanh_form[4], tanh_form[0]}, 1e-14);
}

TEST_CASE("cast converts the elements forward and the gradient back") {
  const Tensor x = leaf(doubles({1.00390625, 0.1}, {2}));
  const Tensor y = cast(x, DType::float32);
  CHECK(y.dtype() == DType::float32);
  check_values(cast(x, DType::bfloat16), {1, 0.10009765625});
  backward(y, {.gradient = floats({2, 0.1F}, {2})});
  CHECK(x.grad().dtype() == DType::float64);
  check_values(x.grad(), {2, static_cast<double>(0.1F)});
  check_values(cast(x, DType::float64), x.to_vector());
}

TEST_CASE("bfloat16 parameters can be trained through a cast") {
  const Tensor weight = leaf(convert(doubles({3}, {1}), DType::bfloat16));
  backward(cast(weight, DType::float32) * floats({2.00390625F}, {1}));
  CHECK(weight.grad().dtype() == DType::bfloat16);
  check_values(weight.grad(), {2});
}

TEST_CASE("cast refuses types that are not floating") {
  CHECK(mentions(error_of([] { cast(Tensor::ones({1}), DType::int32); }), {"[cast]", "floating"}));
  CHECK(mentions(error_of([] { cast(ints({1}, {1}), DType::float32); }), {"[cast]", "floating"}));
  CHECK(mentions(error_of([] { cast(Tensor(), DType::float32); }), {"[cast]"}));
}

TEST_CASE("a number may be on the left of an operator") {
  const Tensor x = doubles({1, 4}, {2});
  check_values(1.0 - x, {0, -3});
  check_values(1.0 + x, {2, 5});
  check_values(2.0 / x, {2, 0.5});
  CHECK((1.0 - convert(x, DType::float32)).dtype() == DType::float32);
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
  CHECK(mentions(error_of([&] {
                   row += Tensor::zeros({3, 2}, DType::float64);
                 }),
                 {"[+=]", "[3, 2]", "[2]", "a = a + b"}));
  check_values(row, {1, 2});
}

TEST_CASE("clamp limits numbers and keeps NaN") {
  const Tensor x = doubles({-3, 0.5, 3, kNaN, kInfinity}, {5});
  check_values(clamp(x, -1, 2), {-1, 0.5, 2, kNaN, 2});
  check_values(clamp(x, -kInfinity, 0), {-3, 0, 0, kNaN, 0});
  check_values(clamp(x, 1, 1), {1, 1, 1, kNaN, 1});
  CHECK(mentions(error_of([&] { clamp(x, 2, 1); }), {"[clamp]", "low <= high", "2 and 1"}));
  CHECK(mentions(error_of([&] { clamp(x, kNaN, 1); }), {"[clamp]", "low <= high"}));
  CHECK(mentions(error_of([] { clamp(ints({1}, {1}), 0, 1); }), {"[clamp]", "int32"}));
}
}  // namespace elementwise_test
