#include "headlight/ops/elementwise.h"
#include "headlight/ops/activation.h"

#include <limits>

#include "course/gradcheck/cases.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/reduce.h"

namespace headlight::cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void unary(GradientCases& to, const std::string& op, DrawRange range, Tensor (*f)(In)) {
  const Shape wide{2, 3, 4};
  add(to, op, f,
      {{"a matrix", {{3, 4}}},
       {"a scalar", {draw({}, 2, range)}},
       {"no elements", {{0, 3}}},
       {"axes of size 1", {{1, 3, 1}}},
       {"a transposed input", {transposed({3, 4})}},
       {"every second column", {{3, 7}}, [f](In x) { return f(slice(x, 1, 1, 7, 2)); }},
       {"an expanded input", {{3, 1}}, [=](In x) { return f(expand(x, wide)); }},
       {"an input used twice", {{2, 3}}, [f](In x) { return f(x) * x; }}},
      range);
}

void binary(GradientCases& to, const std::string& op, DrawRange range, Tensor (*f)(In, In)) {
  add(to, op, f,
      {{"one shape", {{3, 4}, {3, 4}}},
       {"a column and a row", {{3, 1}, {1, 4}}},
       {"three axes and two", {{2, 1, 3}, {4, 1}}},
       {"a scalar on the left", {{}, {2, 3}}},
       {"a scalar on the right", {{2, 3}, {}}},
       {"no elements", {{0, 4}, {1, 4}}},
       {"a constant on the right", {{2, 3}, constant({3})}},
       {"transposed and sliced inputs",
        {transposed({3, 4}), {3, 8}},
        [f](In a, In b) { return f(a, slice(b, 1, 0, 8, 2)); }},
       {"one tensor on both sides", {{3, 3}}, [f](In x) { return f(x, transpose(x)); }}},
      range);
}

void number_cases(GradientCases& to) {
  add(to, "add", [](In x) { return 2.0 + x; }, {{"a number on the left", {{2, 3}}}});
  add(to, "sub", [](In x) { return 2.0 - x; }, {{"a number on the left", {{2, 3}}}});
  add(to, "div", [](In x) { return 2.0 / x; },
      {{"a number on the left", {within({0.5, 2}, {2, 3})}}});
  const auto summed = [](In a, In b) {
    Tensor sum = a;
    sum += b;
    return sum += 1.0;
  };
  add(to, "+=", summed,
      {{"one shape", {{2, 3}, {2, 3}}},
       {"a row", {{2, 3}, {3}}},
       {"an input used twice", {{2, 3}}, [=](In x) { return summed(x, x) * x; }}});
  const auto clamped = [](In x) { return clamp(x, -0.5, 0.7); };
  add(to, "clamp", clamped,
      {{"both limits", {distinct({4, 5})}},
       {"no upper limit", {distinct({7})}, [](In x) { return clamp(x, 0.05, kInfinity); }},
       {"no elements", {{0, 3}}},
       {"a transposed input", {distinct({3, 4})}, [=](In x) { return clamped(transpose(x)); }}});
}

// No input has ties, because of max.
void reduction(GradientCases& to, const std::string& op, Tensor (*f)(In, const ReduceOptions&)) {
  const Shape wide{3, 4};
  const auto over = [f](const ReduceOptions& options) {
    return [f, options](In x) { return f(x, options); };
  };
  add(to, op, over({}),
      {{"all axes", {distinct({3, 4})}},
       {"all axes, kept", {distinct({3, 4})}, over({.axes = {}, .keepdim = true})},
       {"the first axis", {distinct({4, 3})}, over({.axes = {0}})},
       {"the last axis, kept", {distinct({2, 5})}, over({.axes = {-1}, .keepdim = true})},
       {"the middle axis", {distinct({2, 4, 3})}, over({.axes = {1}})},
       {"the outer axes", {distinct({3, 2, 4})}, over({.axes = {-1, 0}})},
       {"no rows", {{0, 3}}, over({.axes = {1}})},
       {"a transposed input",
        {distinct({3, 4})},
        [f](In x) { return f(transpose(x), {.axes = {0}}); }},
       {"every second element",
        {distinct({3, 8})},
        [f](In x) { return f(slice(x, 1, 1, 8, 2), {.axes = {1}}); }},
       {"an expanded axis that stays",
        {distinct({1, 4})},
        [=](In x) { return f(expand(x, wide), {.axes = {1}}); }},
       {"an input used twice", {distinct({2, 3})}, [f](In x) {
          return x * f(x, {.axes = {1}, .keepdim = true});
        }}});
}

void triangle(GradientCases& to, const std::string& op, Tensor (*f)(In, Index)) {
  const auto cut = [f](Index diagonal) { return [=](In x) { return f(x, diagonal); }; };
  add(to, op, cut(0),
      {{"a square", {{3, 3}}},
       {"above the diagonal", {{3, 4}}, cut(1)},
       {"below the diagonal", {{4, 3}}, cut(-1)},
       {"beyond the corner", {{2, 3}}, cut(5)},
       {"a batch", {{2, 3, 3}}},
       {"no columns", {{2, 0}}},
       {"a transposed input", {transposed({3, 4})}}});
}

}  // namespace

void elementwise_cases(GradientCases& to) {
  binary(to, "add", {}, headlight::add);
  binary(to, "sub", {}, sub);
  binary(to, "mul", {}, mul);
  binary(to, "div", {0.5, 2}, div);
  add(to, "add", [](In x) { return x + 2.0; }, {{"a number", {{2, 3}}}});
  add(to, "sub", [](In x) { return x - 2.0; }, {{"a number", {{2, 3}}}});
  add(to, "mul", [](In x) { return -3.0 * x; }, {{"a number", {{2, 3}}}});
  add(to, "div", [](In x) { return x / 4.0; },
      {{"a negative divisor", {{2, 3}, within({-2, -0.5}, {3})}, [](In a, In b) { return a / b; }},
       {"a number", {{2, 3}}}});
  number_cases(to);
  unary(to, "neg", {}, neg);
  unary(to, "pow", {0.5, 2}, [](In x) { return pow(x, -1.5); });
  add(to, "pow", [](In x) { return pow(x, 3); },
      {{"a cube of either sign", {{2, 3}}},
       {"exponent 1", {{2, 3}}, [](In x) { return pow(x, 1); }},
       {"exponent 0", {{2, 3}}, [](In x) { return pow(x, 0); }},
       {"exponent 2 at 0", {filled({2}, 0)}, [](In x) { return pow(x, 2); }}});
  unary(to, "exp", {}, exp);
  unary(to, "log", {0.5, 2}, log);
  unary(to, "sqrt", {0.5, 2}, sqrt);
  unary(to, "tanh", {}, tanh);
  unary(to, "sigmoid", {-4, 4}, sigmoid);
  unary(to, "silu", {-4, 4}, silu);
  add(to, "relu", relu,
      {{"both signs", {distinct({4, 5})}},
       {"no elements", {{0}}},
       {"a transposed input", {distinct({3, 4})}, [](In x) { return relu(transpose(x)); }},
       {"an input used twice", {distinct({5})}, [](In x) { return relu(x) + relu(-x); }}});
  unary(to, "gelu_tanh", {-4, 4}, [](In x) { return gelu(x, GeluForm::tanh); });
  unary(to, "gelu_erf", {-4, 4}, [](In x) { return gelu(x, GeluForm::erf); });
}

void reduce_cases(GradientCases& to) {
  reduction(to, "sum", sum);
  reduction(to, "mean", mean);
  reduction(to, "var", [](In x, const ReduceOptions& options) { return var(x, options); });
  reduction(to, "stddev", [](In x, const ReduceOptions& options) { return stddev(x, options); });
  reduction(to, "max", max);
  const auto spread_out = [](In x) { return expand(x, {3, 4}); };
  add(to, "sum", [](In x) { return sum(x); },
      {{"nothing to add", {{3, 0}}, [](In x) { return sum(x, {.axes = {1}}); }},
       {"an expanded axis", {{1, 4}}, [=](In x) { return sum(spread_out(x), {.axes = {0}}); }},
       {"a scalar", {{}}}});
  add(to, "mean", [](In x) { return mean(x, {.axes = {1}}); },
      {{"an axis of size 1", {{3, 1}}},
       {"an expanded axis", {{1, 4}}, [=](In x) { return mean(spread_out(x), {.axes = {0}}); }}});
  add(to, "var", [](In x) { return var(x, {.axes = {1}}, 0); },
      {{"of a population", {{2, 5}}}, {"a population of one", {{3, 1}}}});
  add(to, "max", [](In x) { return max(x); },
      {{"an axis of size 1", {{3, 1}}, [](In x) { return max(x, {.axes = {1}}); }},
       {"a scalar", {{}}}});
}

void mask_cases(GradientCases& to) {
  const Tensor corners = Tensor::from({true, false, false, false, false, true}, {2, 3});
  const Tensor ends = Tensor::from({true, false, true}, {3});
  const Tensor upper = Tensor::from({true, false}, {2, 1});
  const auto fill = [](const Tensor& mask) {
    return [mask](In x) { return masked_fill(x, mask, 0.7); };
  };
  add(to, "masked_fill", fill(corners),
      {{"a mask of the same shape", {{2, 3}}},
       {"a mask that broadcasts", {{2, 2, 3}}},
       {"a column of a mask", {{2, 3}}, fill(upper)},
       {"everything masked", {{2, 3}}, fill(Tensor::ones({3}, DType::boolean))},
       {"no elements", {{0, 3}}, fill(ends)},
       {"a transposed input", {transposed({2, 3})}},
       {"a transposed mask", {{3, 2}}, fill(transpose(corners))},
       {"an input used twice", {{2, 3}}, [=](In x) { return masked_fill(x, corners, 2.0) * x; }}});
  const auto choose = [](const Tensor& condition) {
    return [condition](In a, In b) { return where(condition, a, b); };
  };
  add(to, "where", choose(corners),
      {{"one shape", {{2, 3}, {2, 3}}},
       {"operands that broadcast", {{3}, {2, 1}}},
       {"a condition that broadcasts", {{2, 3}, {3}}, choose(upper)},
       {"a scalar", {{}, {2, 3}}},
       {"operands smaller than the condition", {{}, {1, 1}}},
       {"no elements", {{0, 2}, {2}}, choose(Tensor::from({true}, {1}))},
       {"transposed operands", {transposed({2, 3}), {2, 3}}},
       {"one tensor on both sides", {{2, 3}}, [=](In x) { return where(corners, x, x * x); }}});
  triangle(to, "tril", tril);
  triangle(to, "triu", triu);
}

}  // namespace headlight::cli
