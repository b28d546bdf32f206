#include "headlight/ops/layout.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"

namespace headlight::cli {
namespace {

GradientCases reshape_cases() {
  return {
      {"reshape",
       "a view",
       {draw({2, 6})},
       [](const auto& in) {
         return reshape(in[0], {3, 4});
       }},
      {"reshape",
       "a size to be worked out",
       {draw({2, 6})},
       [](const auto& in) {
         return reshape(in[0], {2, -1, 2});
       }},
      {"reshape",
       "a copy of a transposed input",
       {draw_transposed({2, 6})},
       [](const auto& in) {
         return reshape(in[0], {4, 3});
       }},
      {"reshape", "to a scalar", {draw({1, 1})}, [](const auto& in) { return reshape(in[0], {}); }},
      {"reshape",
       "no elements",
       {draw({0, 3})},
       [](const auto& in) {
         return reshape(in[0], {3, 0, 2});
       }},
      {"reshape", "an input used twice", {draw({6})}, [](const auto& in) {
         return reshape(in[0], {2, 3}) * reshape(in[0], {2, 3});
       }}};
}

GradientCases permute_cases() {
  return {
      {"transpose", "a matrix", {draw({2, 3})}, [](const auto& in) { return transpose(in[0]); }},
      {"transpose",
       "the outer axes",
       {draw({2, 3, 4})},
       [](const auto& in) { return transpose(in[0], 0, -1); }},
      {"transpose",
       "an axis with itself",
       {draw({2, 3})},
       [](const auto& in) { return transpose(in[0], 1, 1); }},
      {"transpose",
       "an input used twice",
       {draw({3, 3})},
       [](const auto& in) { return in[0] * transpose(in[0]); }},
      {"permute",
       "four axes",
       {draw({2, 3, 1, 4})},
       [](const auto& in) {
         return permute(in[0], {2, 0, 3, 1});
       }},
      {"permute",
       "axes counted from the end",
       {draw({2, 3, 4})},
       [](const auto& in) {
         return permute(in[0], {-1, 0, -2});
       }},
      {"permute",
       "no elements",
       {draw({2, 0, 3})},
       [](const auto& in) {
         return permute(in[0], {1, 2, 0});
       }},
      {"permute", "a scalar", {draw({})}, [](const auto& in) { return permute(in[0], {}); }}};
}

GradientCases slice_cases() {
  return {
      {"slice",
       "a range of rows",
       {draw({5, 2})},
       [](const auto& in) { return slice(in[0], 0, 1, 4); }},
      {"slice",
       "every third column",
       {draw({2, 8})},
       [](const auto& in) { return slice(in[0], 1, 1, 8, 3); }},
      {"slice",
       "bounds counted from the end",
       {draw({6})},
       [](const auto& in) { return slice(in[0], 0, -4, -1, 2); }},
      {"slice",
       "bounds beyond the end",
       {draw({3, 2})},
       [](const auto& in) { return slice(in[0], 0, 2, 100); }},
      {"slice", "nothing", {draw({3, 2})}, [](const auto& in) { return slice(in[0], 0, 2, 1); }},
      {"slice",
       "a transposed input",
       {draw_transposed({4, 3})},
       [](const auto& in) { return slice(in[0], 0, 0, 4, 2); }},
      {"slice", "overlapping parts", {draw({5})}, [](const auto& in) {
         return slice(in[0], 0, 0, 4) * slice(in[0], 0, 1, 5);
       }}};
}

GradientCases expand_cases() {
  return {{"expand",
           "an axis of size 1",
           {draw({3, 1})},
           [](const auto& in) {
             return expand(in[0], {3, 4});
           }},
          {"expand",
           "new axes in front",
           {draw({3})},
           [](const auto& in) {
             return expand(in[0], {2, 1, 3});
           }},
          {"expand",
           "a scalar",
           {draw({})},
           [](const auto& in) {
             return expand(in[0], {2, 3});
           }},
          {"expand",
           "to no elements",
           {draw({1, 3})},
           [](const auto& in) {
             return expand(in[0], {0, 3});
           }},
          {"expand",
           "to its own shape",
           {draw({2, 3})},
           [](const auto& in) {
             return expand(in[0], {2, 3});
           }},
          {"contiguous",
           "a transposed input",
           {draw_transposed({2, 3})},
           [](const auto& in) { return contiguous(in[0]); }},
          {"contiguous",
           "an expanded input",
           {draw({1, 3})},
           [](const auto& in) {
             return contiguous(expand(in[0], {2, 3}));
           }},
          {"contiguous", "an input in order", {draw({2, 3})}, [](const auto& in) {
             return contiguous(in[0]);
           }}};
}

GradientCases join_cases() {
  return {{"concat",
           "rows",
           {draw({2, 3}), draw({1, 3}, 2)},
           [](const auto& in) {
             return concat({in[0], in[1]}, 0);
           }},
          {"concat",
           "columns, with an empty part",
           {draw({2, 1}), draw({2, 0}, 2), draw({2, 3}, 3)},
           [](const auto& in) { return concat(in, -1); }},
          {"concat",
           "a transposed part",
           {draw_transposed({2, 3}), draw({2, 3}, 2)},
           [](const auto& in) { return concat(in, 1); }},
          {"concat",
           "one tensor twice",
           {draw({2, 2})},
           [](const auto& in) {
             return concat({in[0], in[0]}, 0);
           }},
          {"stack",
           "a new first axis",
           {draw({2, 3}), draw({2, 3}, 2)},
           [](const auto& in) { return stack(in); }},
          {"stack",
           "a new last axis",
           {draw({2, 3}), draw_transposed({2, 3}, 2)},
           [](const auto& in) { return stack(in, -1); }},
          {"stack", "scalars", {draw({}), draw({}, 2)}, [](const auto& in) { return stack(in); }},
          {"stack",
           "one tensor twice",
           {draw({3})},
           [](const auto& in) {
             return stack({in[0], in[0]});
           }},
          {"split",
           "a smaller last piece",
           {draw({2, 5})},
           [](const auto& in) {
             const std::vector<Tensor> pieces = split(in[0], 2, 1);
             return concat({pieces[2], pieces[1], pieces[0] * pieces[1]}, 1);
           }},
          {"split", "a piece that is not used", {draw({6})}, [](const auto& in) {
             const std::vector<Tensor> pieces = split(in[0], 2, 0);
             return pieces[0] * pieces[2];
           }}};
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
