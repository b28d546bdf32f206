#include "headlight/ops/layout.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"

namespace headlight::cli {
namespace {

using Inputs = std::vector<Tensor>;

auto reshaped(const Shape& shape) {
  return [shape](const Inputs& in) { return reshape(in[0], shape); };
}

auto expanded(const Shape& shape) {
  return [shape](const Inputs& in) { return expand(in[0], shape); };
}

auto permuted(const std::vector<Index>& axes) {
  return [axes](const Inputs& in) { return permute(in[0], axes); };
}

GradientCases reshape_cases() {
  return {
      check("reshape", "a view", {draw({2, 6})}, reshaped({3, 4})),
      check("reshape", "a size to be worked out", {draw({2, 6})}, reshaped({2, -1, 2})),
      check("reshape", "a copy of a transposed input", {draw_transposed({2, 6})}, reshaped({4, 3})),
      check("reshape", "to a scalar", {draw({1, 1})}, reshaped({})),
      check("reshape", "no elements", {draw({0, 3})}, reshaped({3, 0, 2})),
      check("reshape", "an input used twice", {draw({6})}, [](const auto& in) {
        return reshape(in[0], {2, 3}) * reshape(in[0], {2, 3});
      })};
}

GradientCases permute_cases() {
  return {check("transpose", "a matrix", {draw({2, 3})},
                [](const auto& in) { return transpose(in[0]); }),
          check("transpose", "the outer axes", {draw({2, 3, 4})},
                [](const auto& in) { return transpose(in[0], 0, -1); }),
          check("transpose", "an axis with itself", {draw({2, 3})},
                [](const auto& in) { return transpose(in[0], 1, 1); }),
          check("transpose", "an input used twice", {draw({3, 3})},
                [](const auto& in) { return in[0] * transpose(in[0]); }),
          check("permute", "four axes", {draw({2, 3, 1, 4})}, permuted({2, 0, 3, 1})),
          check("permute", "axes counted from the end", {draw({2, 3, 4})}, permuted({-1, 0, -2})),
          check("permute", "no elements", {draw({2, 0, 3})}, permuted({1, 2, 0})),
          check("permute", "a scalar", {draw({})}, permuted({}))};
}

GradientCases slice_cases() {
  return {check("slice", "a range of rows", {draw({5, 2})},
                [](const auto& in) { return slice(in[0], 0, 1, 4); }),
          check("slice", "every third column", {draw({2, 8})},
                [](const auto& in) { return slice(in[0], 1, 1, 8, 3); }),
          check("slice", "bounds counted from the end", {draw({6})},
                [](const auto& in) { return slice(in[0], 0, -4, -1, 2); }),
          check("slice", "bounds beyond the end", {draw({3, 2})},
                [](const auto& in) { return slice(in[0], 0, 2, 100); }),
          check("slice", "nothing", {draw({3, 2})},
                [](const auto& in) { return slice(in[0], 0, 2, 1); }),
          check("slice", "a transposed input", {draw_transposed({4, 3})},
                [](const auto& in) { return slice(in[0], 0, 0, 4, 2); }),
          check("slice", "overlapping parts", {draw({5})},
                [](const auto& in) { return slice(in[0], 0, 0, 4) * slice(in[0], 0, 1, 5); })};
}

GradientCases expand_cases() {
  return {check("expand", "an axis of size 1", {draw({3, 1})}, expanded({3, 4})),
          check("expand", "new axes in front", {draw({3})}, expanded({2, 1, 3})),
          check("expand", "a scalar", {draw({})}, expanded({2, 3})),
          check("expand", "to no elements", {draw({1, 3})}, expanded({0, 3})),
          check("expand", "to its own shape", {draw({2, 3})}, expanded({2, 3})),
          check("contiguous", "a transposed input", {draw_transposed({2, 3})},
                [](const auto& in) { return contiguous(in[0]); }),
          check("contiguous", "an expanded input", {draw({1, 3})},
                [](const auto& in) {
                  return contiguous(expand(in[0], {2, 3}));
                }),
          check("contiguous", "an input in order", {draw({2, 3})},
                [](const auto& in) { return contiguous(in[0]); })};
}

GradientCases join_cases() {
  return {
      check("concat", "rows", {draw({2, 3}), draw({1, 3}, 2)},
            [](const auto& in) {
              return concat({in[0], in[1]}, 0);
            }),
      check("concat", "columns, with an empty part",
            {draw({2, 1}), draw({2, 0}, 2), draw({2, 3}, 3)},
            [](const auto& in) { return concat(in, -1); }),
      check("concat", "a transposed part", {draw_transposed({2, 3}), draw({2, 3}, 2)},
            [](const auto& in) { return concat(in, 1); }),
      check("concat", "one tensor twice", {draw({2, 2})},
            [](const auto& in) {
              return concat({in[0], in[0]}, 0);
            }),
      check("stack", "a new first axis", {draw({2, 3}), draw({2, 3}, 2)},
            [](const auto& in) { return stack(in); }),
      check("stack", "a new last axis", {draw({2, 3}), draw_transposed({2, 3}, 2)},
            [](const auto& in) { return stack(in, -1); }),
      check("stack", "scalars", {draw({}), draw({}, 2)}, [](const auto& in) { return stack(in); }),
      check("stack", "one tensor twice", {draw({3})},
            [](const auto& in) {
              return stack({in[0], in[0]});
            }),
      check("split", "a smaller last piece", {draw({2, 5})},
            [](const auto& in) {
              const std::vector<Tensor> pieces = split(in[0], 2, 1);
              return concat({pieces[2], pieces[1], pieces[0] * pieces[1]}, 1);
            }),
      check("split", "a piece that is not used", {draw({6})}, [](const auto& in) {
        const std::vector<Tensor> pieces = split(in[0], 2, 0);
        return pieces[0] * pieces[2];
      })};
}

}  // namespace

GradientCases layout_cases() {
  GradientCases cases = reshape_cases();
  append(cases, permute_cases());
  append(cases, slice_cases());
  append(cases, expand_cases());
  append(cases, join_cases());
  return cases;
}

}  // namespace headlight::cli
