#include "headlight/ops/mask.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"

namespace headlight::cli {
namespace {

Tensor mask_of(std::initializer_list<bool> values, const Shape& shape) {
  return Tensor::from(values, shape);
}

GradientCases fill_cases() {
  const auto fill = [](const std::string& description, const Tensor& x, const Tensor& mask) {
    return GradientCase{"masked_fill", description, {x}, [mask](const auto& in) {
                          return masked_fill(in[0], mask, 0.7);
                        }};
  };
  const Tensor corners = mask_of({true, false, false, false, false, true}, {2, 3});
  return {fill("a mask of the same shape", draw({2, 3}), corners),
          fill("a mask that broadcasts", draw({2, 2, 3}), corners),
          fill("a column of a mask", draw({2, 3}), mask_of({true, false}, {2, 1})),
          fill("everything masked", draw({2, 3}), Tensor::ones({3}, DType::boolean)),
          fill("no elements", draw({0, 3}), mask_of({true, false, true}, {3})),
          fill("a transposed input", draw_transposed({2, 3}), corners),
          fill("a transposed mask", draw({3, 2}), transpose(corners)),
          check("masked_fill", "an input used twice", {draw({2, 3})},
                [corners](const auto& in) { return masked_fill(in[0], corners, 2.0) * in[0]; })};
}

GradientCases where_cases() {
  const auto choose = [](const std::string& description, const Tensor& condition, const Tensor& a,
                         const Tensor& b) {
    return GradientCase{"where", description, {a, b}, [condition](const auto& in) {
                          return where(condition, in[0], in[1]);
                        }};
  };
  const Tensor corners = mask_of({true, false, false, false, false, true}, {2, 3});
  return {choose("one shape", corners, draw({2, 3}), draw({2, 3}, 2)),
          choose("operands that broadcast", corners, draw({3}), draw({2, 1}, 2)),
          choose("a condition that broadcasts", mask_of({true, false}, {2, 1}), draw({2, 3}),
                 draw({3}, 2)),
          choose("a scalar", corners, draw({}), draw({2, 3}, 2)),
          choose("operands smaller than the condition", corners, draw({}), draw({1, 1}, 2)),
          choose("no elements", mask_of({true}, {1}), draw({0, 2}), draw({2}, 2)),
          choose("transposed operands", corners, draw_transposed({2, 3}), draw({2, 3}, 2)),
          check("where", "one tensor on both sides", {draw({2, 3})},
                [corners](const auto& in) { return where(corners, in[0], in[0] * in[0]); })};
}

GradientCases triangle_cases(const std::string& op, Tensor (*triangle)(const Tensor&, Index)) {
  const auto cut = [=](const std::string& description, const Tensor& x, Index diagonal) {
    return GradientCase{
        op, description, {x}, [=](const auto& in) { return triangle(in[0], diagonal); }};
  };
  return {cut("a square", draw({3, 3}), 0),
          cut("above the diagonal", draw({3, 4}), 1),
          cut("below the diagonal", draw({4, 3}), -1),
          cut("beyond the corner", draw({2, 3}), 5),
          cut("a batch", draw({2, 3, 3}), 0),
          cut("no columns", draw({2, 0}), 0),
          cut("a transposed input", draw_transposed({3, 4}), 0)};
}

}  // namespace

GradientCases mask_cases() {
  GradientCases cases = fill_cases();
  append(cases, where_cases());
  append(cases, triangle_cases("tril", tril));
  append(cases, triangle_cases("triu", triu));
  return cases;
}

}  // namespace headlight::cli
