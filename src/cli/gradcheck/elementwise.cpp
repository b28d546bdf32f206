#include "headlight/ops/activation.h"
#include "headlight/ops/elementwise.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/layout.h"

namespace headlight::cli {
namespace {

using Unary = std::function<Tensor(const Tensor&)>;
using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;

GradientCases unary_cases(const std::string& op, DrawRange range, const Unary& f) {
  const auto plain = [f](const auto& in) { return f(in[0]); };
  return {check(op, "a matrix", {draw({3, 4}, 1, range)}, plain),
          check(op, "a scalar", {draw({}, 2, range)}, plain),
          check(op, "no elements", {draw({0, 3}, 1, range)}, plain),
          check(op, "axes of size 1", {draw({1, 3, 1}, 1, range)}, plain),
          check(op, "a transposed input", {draw_transposed({3, 4}, 1, range)}, plain),
          check(op, "every second column", {draw({3, 7}, 1, range)},
                [f](const auto& in) { return f(slice(in[0], 1, 1, 7, 2)); }),
          check(op, "an expanded input", {draw({3, 1}, 1, range)},
                [f](const auto& in) {
                  return f(expand(in[0], {2, 3, 4}));
                }),
          check(op, "an input used twice", {draw({2, 3}, 1, range)},
                [f](const auto& in) { return f(in[0]) * in[0]; })};
}

GradientCases binary_cases(const std::string& op, DrawRange range, const Binary& f) {
  const auto plain = [f](const auto& in) { return f(in[0], in[1]); };
  const auto pair = [range](const Shape& a, const Shape& b) {
    return std::vector<Tensor>{draw(a, 1, range), draw(b, 2, range)};
  };
  return {check(op, "one shape", pair({3, 4}, {3, 4}), plain),
          check(op, "a column and a row", pair({3, 1}, {1, 4}), plain),
          check(op, "three axes and two", pair({2, 1, 3}, {4, 1}), plain),
          check(op, "a scalar on the left", pair({}, {2, 3}), plain),
          check(op, "a scalar on the right", pair({2, 3}, {}), plain),
          check(op, "no elements", pair({0, 4}, {1, 4}), plain),
          check(op, "a constant on the right",
                {draw({2, 3}, 1, range), draw({3}, 2, range).detach()}, plain),
          check(op, "transposed and sliced inputs",
                {draw_transposed({3, 4}, 1, range), draw({3, 8}, 2, range)},
                [f](const auto& in) { return f(in[0], slice(in[1], 1, 0, 8, 2)); }),
          check(op, "one tensor on both sides", {draw({3, 3}, 1, range)},
                [f](const auto& in) { return f(in[0], transpose(in[0])); })};
}

GradientCases arithmetic_cases() {
  GradientCases cases;
  append(cases, binary_cases("add", {}, [](const auto& a, const auto& b) { return a + b; }));
  append(cases, binary_cases("sub", {}, [](const auto& a, const auto& b) { return a - b; }));
  append(cases, binary_cases("mul", {}, [](const auto& a, const auto& b) { return a * b; }));
  append(cases, binary_cases("div", {0.5, 2}, [](const auto& a, const auto& b) { return a / b; }));
  append(cases,
         {check("add", "a number", {draw({2, 3})}, [](const auto& in) { return in[0] + 2.0; }),
          check("sub", "a number", {draw({2, 3})}, [](const auto& in) { return in[0] - 2.0; }),
          check("mul", "a number", {draw({2, 3})}, [](const auto& in) { return -3.0 * in[0]; }),
          check("div", "a number", {draw({2, 3})}, [](const auto& in) { return in[0] / 4.0; }),
          check("div", "a negative divisor", {draw({2, 3}), draw({3}, 2, {-2, -0.5})},
                [](const auto& in) { return in[0] / in[1]; })});
  return cases;
}

GradientCases power_cases() {
  GradientCases cases = unary_cases("pow", {0.5, 2}, [](const Tensor& x) { return pow(x, -1.5); });
  const auto power = [](const std::string& description, DrawRange range, double exponent) {
    return GradientCase{"pow", description, {draw({2, 3}, 1, range)}, [exponent](const auto& in) {
                          return pow(in[0], exponent);
                        }};
  };
  cases.push_back(power("a cube of either sign", {-1.5, 1.5}, 3));
  cases.push_back(power("exponent 1", {-1.5, 1.5}, 1));
  cases.push_back(power("exponent 0", {-1.5, 1.5}, 0));
  cases.push_back(check("pow", "exponent 2 at 0",
                        {Tensor::zeros({2}, DType::float64).set_requires_grad()},
                        [](const auto& in) { return pow(in[0], 2); }));
  return cases;
}

GradientCases relu_cases() {
  const auto plain = [](const auto& in) { return relu(in[0]); };
  return {check("relu", "both signs", {draw_distinct({4, 5})}, plain),
          check("relu", "no elements", {draw({0})}, plain),
          check("relu", "a transposed input", {draw_distinct({3, 4})},
                [](const auto& in) { return relu(transpose(in[0])); }),
          check("relu", "an input used twice", {draw_distinct({5})},
                [](const auto& in) { return relu(in[0]) + relu(-in[0]); })};
}

}  // namespace

GradientCases elementwise_cases() {
  GradientCases cases = arithmetic_cases();
  append(cases, unary_cases("neg", {}, [](const Tensor& x) { return -x; }));
  append(cases, power_cases());
  append(cases, unary_cases("exp", {}, [](const Tensor& x) { return exp(x); }));
  append(cases, unary_cases("log", {0.5, 2}, [](const Tensor& x) { return log(x); }));
  append(cases, unary_cases("sqrt", {0.5, 2}, [](const Tensor& x) { return sqrt(x); }));
  append(cases, unary_cases("tanh", {}, [](const Tensor& x) { return tanh(x); }));
  append(cases, unary_cases("sigmoid", {-4, 4}, [](const Tensor& x) { return sigmoid(x); }));
  append(cases, unary_cases("silu", {-4, 4}, [](const Tensor& x) { return silu(x); }));
  append(cases, relu_cases());
  append(cases, unary_cases("gelu_tanh", {-4, 4},
                            [](const Tensor& x) { return gelu(x, GeluForm::tanh); }));
  append(cases,
         unary_cases("gelu_erf", {-4, 4}, [](const Tensor& x) { return gelu(x, GeluForm::erf); }));
  return cases;
}

}  // namespace headlight::cli
