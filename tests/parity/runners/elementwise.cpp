#include "headlight/ops/elementwise.h"
#include "headlight/ops/activation.h"

#include "headlight/ops/compare.h"
#include "headlight/ops/dropout.h"
#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

// Makes a runner of a function of x.
Runner unary(Tensor (*op)(const Tensor&)) {
  return [op](Run& run) { run.output("y", op(run.input("x"))); };
}

// Makes a runner of a function of a and b; b is a tensor or, without one, a number attribute.
template <class OfTensors, class OfNumber>
Runner binary(OfTensors of_tensors, OfNumber of_number) {
  return [=](Run& run) {
    const Tensor a = run.input("a");
    const Tensor b = run.input("b");
    run.output("y", b.defined() ? of_tensors(a, b) : of_number(a, run.attribute("b", 0.0)));
  };
}

using Comparison = Tensor (*)(const Tensor&, const Tensor&);
using NumberComparison = Tensor (*)(const Tensor&, double);
Runner compare(Comparison of_tensors, NumberComparison of_number) {
  return binary(of_tensors, of_number);
}

Tensor run_gelu(Run& run) {
  return gelu(run.input("x"),
              run.attribute<std::string>("form", "tanh") == "erf" ? GeluForm::erf : GeluForm::tanh);
}

Tensor run_dropout(Run& run) {
  return dropout(
      run.input("x"), run.attribute("probability", 0.0),
      {run.attribute<std::uint64_t>("seed", 0), run.attribute<std::uint64_t>("stream", 0)});
}

Tensor minus(Run& run) {
  const Tensor a = run.input("a");
  const Tensor b = run.input("b");
  if (run.attributes().contains("b")) {
    const double number = run.attribute("b", 0.0);
    return number - (a - number);
  }
  return b.defined() ? a - b : -a;
}

}  // namespace

Runners elementwise_runners() {
  using T = const Tensor&;
  const Runner add_both =
      binary([](T a, T b) { return add(a, b); }, [](T a, double b) { return add(a, b); });
  const Runner mul_both =
      binary([](T a, T b) { return mul(a, b); }, [](T a, double b) { return mul(a, b); });
  return {
      {"add", add_both},
      {"mul", mul_both},
      {"sub", [](Run& run) { run.output("y", sub(run.input("a"), run.input("b"))); }},
      {"div", [](Run& run) { run.output("y", div(run.input("a"), run.input("b"))); }},
      // Numbers are on the right, then on the left.
      {"operator+",
       binary([](T a, T b) { return a + b; }, [](T a, double b) { return b + (a + b); })},
      {"operator-", [](Run& run) { run.output("y", minus(run)); }},
      {"operator*",
       binary([](T a, T b) { return a * b; }, [](T a, double b) { return b * (a * b); })},
      {"operator/",
       binary([](T a, T b) { return a / b; }, [](T a, double b) { return b / (a / b); })},
      {"equal", compare(equal, equal)},
      {"not_equal", compare(not_equal, not_equal)},
      {"less", compare(less, less)},
      {"less_equal", compare(less_equal, less_equal)},
      {"greater", compare(greater, greater)},
      {"greater_equal", compare(greater_equal, greater_equal)},
      {"logical_and", binary(logical_and, [](T a, double) { return a; })},
      {"logical_or", binary(logical_or, [](T a, double) { return a; })},
      {"logical_not", unary(logical_not)},
      {"soft_cap",
       [](Run& run) { run.output("y", soft_cap(run.input("x"), run.attribute("cap", 1.0))); }},
      {"clamp",
       [](Run& run) {
         const auto limit = [&](const char* name) {
           return std::stod(run.attribute<std::string>(name, "0"));
         };
         run.output("y", clamp(run.input("x"), limit("low"), limit("high")));
       }},
      {"neg", unary(neg)},
      {"exp", unary(headlight::exp)},
      {"log", unary(headlight::log)},
      {"sqrt", unary(headlight::sqrt)},
      {"tanh", unary(headlight::tanh)},
      {"relu", unary(relu)},
      {"sigmoid", unary(sigmoid)},
      {"silu", unary(silu)},
      {"pow",
       [](Run& run) { run.output("y", pow(run.input("x"), run.attribute("exponent", 1.0))); }},
      {"gelu", [](Run& run) { run.output("y", run_gelu(run)); }},
      {"cast",
       [](Run& run) {
         const auto to = run.attribute<std::string>("to", "float32");
         run.output("y", cast(run.input("x"), parse_name<DType>("dtype", to)));
       }},
      {"dropout", [](Run& run) { run.output("y", run_dropout(run)); }},
  };
}

}  // namespace headlight::parity
