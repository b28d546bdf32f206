#include "support/test.h"

namespace einsum_test {
// Returns an element of a tensor with three axes.
double at(const Tensor& x, Index i, Index j, Index k) {
  return x.data<double>()[i * x.strides()[0] + j * x.strides()[1] + k * x.strides()[2]];
}

std::string message(std::string_view equation, const Shape& a, const Shape& b) {
  return error_of([&] { einsum(equation, Tensor::zeros(a), Tensor::zeros(b)); });
}

std::string message(std::string_view equation, const Shape& a) {
  return error_of([&] { einsum(equation, Tensor::zeros(a)); });
}

TEST_CASE("einsum computes the scores of every head: thd,shd->hts") {
  const Tensor query = noise({4, 3, 5}, 1);
  const Tensor key = noise({6, 3, 5}, 2);
  const Tensor scores = einsum("thd,shd->hts", query, key);
  REQUIRE(scores.shape() == Shape{3, 4, 6});
  for (Index h = 0; h < 3; ++h) {
    for (Index t = 0; t < 4; ++t) {
      for (Index s = 0; s < 6; ++s) {
        double expected = 0;
        for (Index d = 0; d < 5; ++d) {
          expected += at(query, t, h, d) * at(key, s, h, d);
        }
        CHECK(at(scores, h, t, s) == Approx(expected).margin(1e-14));
      }
    }
  }
}

TEST_CASE("einsum weighs the values of every head: hts,shd->thd") {
  const Tensor weights = noise({2, 4, 3}, 1);
  const Tensor value = noise({3, 2, 5}, 2);
  const Tensor output = einsum("hts,shd->thd", weights, value);
  REQUIRE(output.shape() == Shape{4, 2, 5});
  for (Index t = 0; t < 4; ++t) {
    for (Index h = 0; h < 2; ++h) {
      for (Index d = 0; d < 5; ++d) {
        double expected = 0;
        for (Index s = 0; s < 3; ++s) {
          expected += at(weights, h, t, s) * at(value, s, h, d);
        }
        CHECK(at(output, t, h, d) == Approx(expected).margin(1e-14));
      }
    }
  }
}

TEST_CASE("einsum computes products of vectors and matrices") {
  const Tensor v = doubles({1, 2}, {2});
  const Tensor w = doubles({3, 4, 5}, {3});
  const Tensor m = doubles({1, 2, 3, 4, 5, 6}, {2, 3});
  check_values(einsum("i,j->ij", v, w), {3, 4, 5, 6, 8, 10});
  check_values(einsum("i,j->ji", v, w), {3, 6, 4, 8, 5, 10});
  check_values(einsum("i,i->", w, w), {50});
  check_values(einsum("i,i->i", w, w), {9, 16, 25});
  check_values(einsum("ij,j->i", m, w), {26, 62});
  check_values(einsum("ij,i->j", m, v), {9, 12, 15});
  check_values(einsum("ij,kj->ik", m, m), {14, 32, 32, 77});
  check_values(einsum("ij,ij->ij", m, m), {1, 4, 9, 16, 25, 36});
  check_values(einsum("ij,->ij", m, Tensor::scalar(10, DType::float64)), {10, 20, 30, 40, 50, 60});
  check_values(einsum(" i j , j -> i ", m, w), {26, 62});
}

TEST_CASE("einsum sums labels that stand in one operand only") {
  const Tensor m = doubles({1, 2, 3, 4, 5, 6}, {2, 3});
  check_values(einsum("ij,k->k", m, doubles({1, 10}, {2})), {21, 210});
  check_values(einsum("ij,kl->ik", m, doubles({1, 1, 2, 2}, {2, 2})), {12, 24, 30, 60});
  check_values(einsum("ij,jk->", m, doubles({1, 0, 0, 1, 0, 0}, {3, 2})), {12});
}

TEST_CASE("einsum of one operand permutes and sums") {
  const Tensor m = doubles({1, 2, 3, 4, 5, 6}, {2, 3});
  check_values(einsum("ij->ji", m), {1, 4, 2, 5, 3, 6});
  check_values(einsum("ij->j", m), {5, 7, 9});
  check_values(einsum("ij->", m), {21});
  check_values(einsum("->", Tensor::scalar(3)), {3});
  check_values(einsum("abc->ca", Tensor::ones({2, 4, 3})), {4, 4, 4, 4, 4, 4});
  CHECK(einsum("Ab->bA", m).shape() == Shape{3, 2});
}

TEST_CASE("einsum keeps empty axes and sums them to 0") {
  CHECK(einsum("ij,jk->ik", Tensor::zeros({0, 3}), Tensor::zeros({3, 2})).shape() == Shape{0, 2});
  check_values(einsum("ij,jk->ik", Tensor::zeros({1, 0}), Tensor::zeros({0, 2})), {0, 0});
}

TEST_CASE("einsum explains what is wrong with an equation") {
  CHECK(mentions(message("ij,jk", {2, 3}, {3, 2}), {"[einsum]", "'ij,jk'", "'->'"}));
  CHECK(mentions(message("ij,jk->ix", {2, 3}, {3, 2}), {"[einsum]", "x", "no operand"}));
  CHECK(mentions(message("ii,ij->j", {2, 2}, {2, 2}), {"[einsum]", "label i", "repeats"}));
  CHECK(mentions(message("ij,jk->ii", {2, 3}, {3, 2}), {"[einsum]", "label i", "repeats"}));
  CHECK(mentions(message("i1,jk->ik", {2, 3}, {3, 2}), {"[einsum]", "single letters"}));
  CHECK(mentions(message("ij,jk->i->k", {2, 3}, {3, 2}), {"[einsum]", "single letters"}));
  CHECK(mentions(message("...ij,jk->ik", {2, 3}, {3, 2}), {"[einsum]", "single letters"}));
  CHECK(mentions(message("", {2}), {"[einsum]", "'->'"}));
}

TEST_CASE("einsum names the operand that contradicts the equation") {
  CHECK(mentions(message("ijk,jk->i", {2, 3}, {3, 2}), {"[einsum]", "'ijk'", "[2, 3]"}));
  CHECK(mentions(message("ij,jk->ik", {2, 3}, {4, 2}), {"[einsum]", "label j", "3", "4"}));
  CHECK(mentions(message("ij->i", {2, 3}, {3, 2}), {"[einsum]", "two operands"}));
  CHECK(mentions(message("ij,jk->ik", {2, 3}), {"[einsum]", "one operand"}));
  CHECK(mentions(error_of([] { einsum("i->i", Tensor()); }), {"[einsum]", "'i'"}));
}
}  // namespace einsum_test
