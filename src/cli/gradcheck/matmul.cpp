#include "headlight/ops/matmul.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/layout.h"

namespace headlight::cli {
namespace {

GradientCase product(const std::string& description, const Tensor& a, const Tensor& b) {
  return check("matmul", description, {a, b}, [](const auto& in) { return matmul(in[0], in[1]); });
}

GradientCase contraction(const std::string& equation, const Tensor& a, const Tensor& b) {
  return check("einsum", equation, {a, b},
               [equation](const auto& in) { return einsum(equation, in[0], in[1]); });
}

GradientCase contraction(const std::string& equation, const Tensor& a) {
  return check("einsum", equation, {a},
               [equation](const auto& in) { return einsum(equation, in[0]); });
}

GradientCases product_cases() {
  return {product("two matrices", draw({2, 3}), draw({3, 4}, 2)),
          product("two vectors", draw({3}), draw({3}, 2)),
          product("a vector and a matrix", draw({3}), draw({3, 4}, 2)),
          product("a matrix and a vector", draw({2, 3}), draw({3}, 2)),
          product("a vector and a batch", draw({3}), draw({2, 3, 4}, 2)),
          product("a batch and a vector", draw({2, 4, 3}), draw({3}, 2)),
          product("a batch and a matrix", draw({2, 3, 4}), draw({4, 2}, 2)),
          product("a matrix and a batch", draw({3, 4}), draw({2, 4, 2}, 2)),
          product("two batches", draw({3, 2, 4}), draw({3, 4, 2}, 2)),
          product("batches that broadcast", draw({2, 1, 3, 2}), draw({4, 2, 3}, 2)),
          product("inner size 1", draw({2, 1}), draw({1, 3}, 2)),
          product("inner size 0", draw({2, 0}), draw({0, 3}, 2)),
          product("no rows", draw({0, 3}), draw({3, 2}, 2)),
          product("no columns", draw({2, 3}), draw({3, 0}, 2)),
          product("no matrices", draw({0, 2, 3}), draw({3, 2}, 2)),
          product("two transposed matrices", draw_transposed({3, 4}), draw_transposed({4, 2}, 2)),
          product("a constant on the left", draw({2, 3}).detach(), draw({3, 2}, 2)),
          check("matmul", "a tensor and its transpose", {draw({3, 2})},
                [](const auto& in) { return matmul(in[0], transpose(in[0])); }),
          check("matmul", "expanded and sliced inputs", {draw({1, 3}), draw({6, 2}, 2)},
                [](const auto& in) {
                  return matmul(expand(in[0], {4, 3}), slice(in[1], 0, 0, 6, 2));
                }),
          check("matmul", "a batch that is an expanded matrix", {draw({2, 3}), draw({4, 3, 2}, 2)},
                [](const auto& in) {
                  return matmul(expand(in[0], {4, 2, 3}), in[1]);
                })};
}

GradientCases linear_cases() {
  const auto plain = [](const auto& in) { return linear(in[0], in[1], in[2]); };
  return {
      check("linear", "rows with a bias", {draw({3, 4}), draw({2, 4}, 2), draw({2}, 3)}, plain),
      check("linear", "no bias", {draw({3, 4}), draw({2, 4}, 2)},
            [](const auto& in) { return linear(in[0], in[1]); }),
      check("linear", "a vector", {draw({4}), draw({2, 4}, 2), draw({2}, 3)}, plain),
      check("linear", "a batch", {draw({2, 3, 4}), draw({5, 4}, 2), draw({5}, 3)}, plain),
      check("linear", "no rows", {draw({0, 4}), draw({2, 4}, 2), draw({2}, 3)}, plain),
      check("linear", "no input features", {draw({3, 0}), draw({2, 0}, 2), draw({2}, 3)}, plain),
      check("linear", "no output features", {draw({3, 4}), draw({0, 4}, 2), draw({0}, 3)}, plain),
      check("linear", "one feature", {draw({3, 1}), draw({1, 1}, 2), draw({1}, 3)}, plain),
      check("linear", "transposed inputs",
            {draw_transposed({3, 4}), draw_transposed({2, 4}, 2), draw({2}, 3)}, plain),
      check("linear", "frozen weight", {draw({3, 4}), draw({2, 4}, 2).detach(), draw({2}, 3)},
            plain),
      check("linear", "one tensor as input and weight", {draw({3, 4}), draw({3}, 2)},
            [](const auto& in) { return linear(in[0], in[0], in[1]); })};
}

GradientCases einsum_cases() {
  return {contraction("thd,shd->hts", draw({3, 2, 2}), draw({4, 2, 2}, 2)),
          contraction("hts,shd->thd", draw({2, 3, 4}), draw({4, 2, 2}, 2)),
          contraction("bthd,bshd->bhts", draw({2, 2, 1, 3}), draw({2, 3, 1, 3}, 2)),
          contraction("i,j->ij", draw({2}), draw({3}, 2)),
          contraction("i,i->", draw({4}), draw({4}, 2)),
          contraction("ij,kl->jk", draw({2, 3}), draw({2, 2}, 2)),
          contraction("bij,bjk->bik", draw({2, 2, 3}), draw({2, 3, 2}, 2)),
          contraction("bij,bij->b", draw({2, 2, 3}), draw({2, 2, 3}, 2)),
          contraction("ab,b->ba", draw({2, 3}), draw({3}, 2)),
          contraction("ij,jk->ik", draw({2, 0}), draw({0, 3}, 2)),
          contraction("ij,->ij", draw({2, 3}), draw({}, 2)),
          contraction("ij->ji", draw({2, 3})),
          contraction("ijk->j", draw({2, 3, 2})),
          contraction("ij->", draw_transposed({2, 3})),
          check("einsum", "one tensor on both sides", {draw({3, 2, 2})},
                [](const auto& in) { return einsum("thd,shd->hts", in[0], in[0]); })};
}

}  // namespace

GradientCases matmul_cases() {
  GradientCases cases = product_cases();
  append(cases, einsum_cases());
  append(cases, linear_cases());
  return cases;
}

}  // namespace headlight::cli
