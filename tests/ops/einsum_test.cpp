#include "support/test.h"

namespace einsum_test {
std::string message(std::string_view equation, const Shape& a, const Shape& b) {
  return error_of([&] { einsum(equation, Tensor::zeros(a), Tensor::zeros(b)); });
}

std::string message(std::string_view equation, const Shape& a) {
  return error_of([&] { einsum(equation, Tensor::zeros(a)); });
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
  check_error([] { einsum("i->i", Tensor()); }, {"[einsum]", "'i'"});
}
}  // namespace einsum_test
