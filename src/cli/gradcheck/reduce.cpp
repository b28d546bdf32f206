#include "headlight/ops/reduce.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"

namespace headlight::cli {
namespace {

using Reduce = std::function<Tensor(const Tensor&, const ReduceOptions&)>;

// Cases of one reduction with several choices of axes. No input has ties, because of max.
GradientCases cases_of(const std::string& op, const Reduce& f) {
  const auto over = [f](const ReduceOptions& options) {
    return [f, options](const std::vector<Tensor>& in) { return f(in[0], options); };
  };
  return {check(op, "all axes", {draw_distinct({3, 4})}, over({})),
          check(op, "all axes, kept", {draw_distinct({3, 4})}, over({.axes = {}, .keepdim = true})),
          check(op, "the first axis", {draw_distinct({4, 3})}, over({.axes = {0}})),
          check(op, "the last axis, kept", {draw_distinct({2, 5})},
                over({.axes = {-1}, .keepdim = true})),
          check(op, "the middle axis", {draw_distinct({2, 4, 3})}, over({.axes = {1}})),
          check(op, "the outer axes", {draw_distinct({3, 2, 4})}, over({.axes = {-1, 0}})),
          check(op, "no rows", {draw({0, 3})}, over({.axes = {1}})),
          check(op, "a transposed input", {draw_distinct({3, 4})},
                [f](const auto& in) { return f(transpose(in[0]), {.axes = {0}}); }),
          check(op, "every second element", {draw_distinct({3, 8})},
                [f](const auto& in) { return f(slice(in[0], 1, 1, 8, 2), {.axes = {1}}); }),
          check(op, "an expanded axis that stays", {draw_distinct({1, 4})},
                [f](const auto& in) {
                  return f(expand(in[0], {3, 4}), {.axes = {1}});
                }),
          check(op, "an input used twice", {draw_distinct({2, 3})},
                [f](const auto& in) { return in[0] * f(in[0], {.axes = {1}, .keepdim = true}); })};
}

}  // namespace

GradientCases reduce_cases() {
  GradientCases cases;
  append(cases, cases_of("sum", sum));
  append(cases, cases_of("mean", mean));
  append(cases,
         cases_of("var", [](const auto& x, const auto& options) { return var(x, options); }));
  append(cases, cases_of("max", max));
  const auto spread_out = [](const auto& in) { return expand(in[0], {3, 4}); };
  append(cases, {check("sum", "nothing to add", {draw({3, 0})},
                       [](const auto& in) { return sum(in[0], {.axes = {1}}); }),
                 check("sum", "an expanded axis", {draw({1, 4})},
                       [=](const auto& in) { return sum(spread_out(in), {.axes = {0}}); }),
                 check("sum", "a scalar", {draw({})}, [](const auto& in) { return sum(in[0]); }),
                 check("mean", "an axis of size 1", {draw({3, 1})},
                       [](const auto& in) { return mean(in[0], {.axes = {1}}); }),
                 check("mean", "an expanded axis", {draw({1, 4})},
                       [=](const auto& in) { return mean(spread_out(in), {.axes = {0}}); }),
                 check("var", "of a population", {draw({2, 5})},
                       [](const auto& in) { return var(in[0], {.axes = {1}}, 0); }),
                 check("var", "a population of one", {draw({3, 1})},
                       [](const auto& in) { return var(in[0], {.axes = {1}}, 0); }),
                 check("max", "an axis of size 1", {draw({3, 1})},
                       [](const auto& in) { return max(in[0], {.axes = {1}}); }),
                 check("max", "a scalar", {draw({})}, [](const auto& in) { return max(in[0]); })});
  return cases;
}

}  // namespace headlight::cli
