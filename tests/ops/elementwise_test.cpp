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
    check_error([&] { op.run(Tensor()); }, {name, "undefined"});
    check_error([&] { op.run(ints({1}, {1})); }, {name, "int32"});
    check_error([&] { op.run(Tensor::zeros({1}, DType::bfloat16)); }, {name, "bfloat16"});
  }
}

TEST_CASE("functions outside their domain give NaN or infinity, never an error") {
  check_values(log(doubles({-1, kNaN}, {2})), {kNaN, kNaN});
  check_values(sqrt(doubles({-1}, {1})), {kNaN});
  check_values(doubles({1, -1, 0}, {3}) / doubles({0, 0, 0}, {3}), {kInfinity, -kInfinity, kNaN});
  check_values(exp(doubles({kInfinity, -kInfinity, kNaN}, {3})), {kInfinity, 0, kNaN});
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

TEST_CASE("bfloat16 parameters can be trained through a cast") {
  const Tensor weight = leaf(convert(doubles({3}, {1}), DType::bfloat16));
  backward(cast(weight, DType::float32) * floats({2.00390625F}, {1}));
  CHECK(weight.grad().dtype() == DType::bfloat16);
  check_values(weight.grad(), {2});
}

TEST_CASE("cast refuses types that are not floating") {
  check_error([] { cast(Tensor::ones({1}), DType::int32); }, {"[cast]", "floating"});
  check_error([] { cast(ints({1}, {1}), DType::float32); }, {"[cast]", "floating"});
  check_error([] { cast(Tensor(), DType::float32); }, {"[cast]"});
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
}  // namespace elementwise_test
