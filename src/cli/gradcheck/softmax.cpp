#include "headlight/ops/softmax.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"

namespace headlight::cli {
namespace {

GradientCases cases_of(const std::string& op, Tensor (*f)(const Tensor&, Index)) {
  const auto over = [f](Index axis) {
    return [f, axis](const std::vector<Tensor>& in) { return f(in[0], axis); };
  };
  return {check(op, "the last axis", {draw({3, 5})}, over(-1)),
          check(op, "the first axis", {draw({3, 4})}, over(0)),
          check(op, "the middle axis", {draw({2, 3, 2})}, over(1)),
          check(op, "an axis of size 1", {draw({3, 1})}, over(-1)),
          check(op, "no elements", {draw({2, 0})}, over(-1)),
          check(op, "no rows", {draw({0, 3})}, over(-1)),
          check(op, "large scores", {draw({2, 4}, 1, {300, 302})}, over(-1)),
          check(op, "a transposed input", {draw_transposed({3, 4})}, over(-1)),
          check(op, "an expanded input", {draw({3, 1})},
                [f](const auto& in) {
                  return f(expand(in[0], {3, 4}), -1);
                }),
          check(op, "an input used twice", {draw({2, 3})},
                [f](const auto& in) { return f(in[0], -1) * in[0]; })};
}

GradientCases masked_cases() {
  const auto masked = [](const std::string& description, const Tensor& x, const Tensor& mask) {
    return GradientCase{"masked_softmax", description, {x}, [mask](const auto& in) {
                          return masked_softmax(in[0], mask);
                        }};
  };
  const Tensor second_row = Tensor::from({false, true, false}, {3, 1});
  return {
      masked("a causal mask", draw({4, 4}), causal_mask(4)),
      masked("a mask shared by heads", draw({2, 3, 3}), causal_mask(3)),
      masked("padding of a batch", draw({2, 3, 4}), reshape(padding_mask({4, 2}, 4), {2, 1, 4})),
      masked("a row with everything hidden", draw({3, 4}), second_row),
      masked("everything hidden", draw({2, 3}), Tensor::ones({2, 3}, DType::boolean)),
      masked("nothing hidden", draw({2, 3}), Tensor::zeros({3}, DType::boolean)),
      masked("no elements", draw({0, 3}), Tensor::zeros({3}, DType::boolean)),
      masked("a transposed input", draw_transposed({3, 4}), causal_mask(3, 4)),
      check("masked_softmax", "an input used twice", {draw({3, 3})},
            [](const auto& in) { return masked_softmax(in[0], causal_mask(3)) * in[0]; })};
}

}  // namespace

GradientCases softmax_cases() {
  GradientCases cases = cases_of("softmax", softmax);
  append(cases, cases_of("log_softmax", log_softmax));
  append(cases, masked_cases());
  return cases;
}

}  // namespace headlight::cli
