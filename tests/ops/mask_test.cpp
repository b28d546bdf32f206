#include "support/test.h"

namespace mask_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor counting_from_one(const Shape& shape) {
  std::vector<double> values;
  for (Index i = 1; i <= numel(shape); ++i) {
    values.push_back(static_cast<double>(i));
  }
  return Tensor::from(values, shape);
}

TEST_CASE("masked_fill writes a value where the mask is true") {
  const Tensor x = doubles({1, 2, 3, 4}, {2, 2});
  const Tensor mask = bools({true, false, false, true}, {2, 2});
  check_values(masked_fill(x, mask, -kInfinity), {-kInfinity, 2, 3, -kInfinity});
  check_values(masked_fill(x, bools({false, true}, {2}), 0), {1, 0, 3, 0});
  check_values(masked_fill(x, bools({false, true}, {2, 1}), 9), {1, 2, 9, 9});
  check_values(masked_fill(transpose(x), mask, 0), {0, 3, 2, 0});
  check_values(masked_fill(convert(x, DType::float32), mask, 0.5), {0.5, 2, 3, 0.5});
  check_values(x, {1, 2, 3, 4});
}

TEST_CASE("masked_fill hides NaN, forward and backward") {
  const Tensor x = leaf(doubles({kNaN, 2}, {2}));
  const Tensor y = masked_fill(x, bools({true, false}, {2}), 0);
  check_values(y, {0, 2});
  backward(y, {.gradient = doubles({kNaN, 5}, {2})});
  check_values(x.grad(), {0, 5});
}

TEST_CASE("masked_fill names a mask of the wrong shape or type") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK(mentions(error_of([&] {
                   masked_fill(x, bools({true, false}, {2}), 0);
                 }),
                 {"[masked_fill]", "[2, 3]", "[2]"}));
  CHECK(mentions(error_of([&] {
                   masked_fill(x, Tensor::zeros({4, 2, 3}, DType::boolean), 0);
                 }),
                 {"[masked_fill]", "[4, 2, 3]", "[2, 3]"}));
  CHECK(mentions(error_of([&] { masked_fill(x, x, 0); }),
                 {"[masked_fill]", "bool", "float32", "use equal(mask, 0) if 0 hides"}));
  CHECK(mentions(error_of([&] { masked_fill(x, Tensor(), 0); }), {"[masked_fill]", "undefined"}));
  CHECK(mentions(error_of([] { masked_fill(Tensor(), Tensor(), 0); }), {"[masked_fill]"}));
  CHECK(mentions(error_of([] { masked_fill(ints({1}, {1}), bools({true}, {1}), 0); }),
                 {"[masked_fill]", "int32"}));
}

TEST_CASE("where chooses between two tensors, and all three broadcast") {
  const Tensor condition = bools({true, false}, {2, 1});
  const Tensor a = doubles({1, 2, 3}, {3});
  check_values(where(condition, a, Tensor::scalar(0, DType::float64)), {1, 2, 3, 0, 0, 0});
  check_values(where(bools({true, false, true}, {3}), a, doubles({7, 8, 9}, {3})), {1, 8, 3});
  check_values(where(transpose(bools({true, true, false, false}, {2, 2})),
                     doubles({1, 2, 3, 4}, {2, 2}), doubles({0, 0, 0, 0}, {2, 2})),
               {1, 0, 3, 0});
}

TEST_CASE("where sends the gradient to the chosen operand only") {
  const Tensor a = leaf(doubles({1, 2}, {2}));
  const Tensor b = leaf(doubles({3, 4}, {2}));
  backward(where(bools({true, false}, {2}), a, b), {.gradient = doubles({10, 20}, {2})});
  check_values(a.grad(), {10, 0});
  check_values(b.grad(), {0, 20});
}

TEST_CASE("where names the argument that it refuses") {
  const Tensor x = Tensor::zeros({2});
  const Tensor yes = bools({true}, {1});
  CHECK(mentions(error_of([&] { where(x, x, x); }), {"[where]", "condition", "bool"}));
  CHECK(mentions(error_of([&] { where(yes, x, Tensor::zeros({3})); }), {"[where]", "[2]", "[3]"}));
  CHECK(mentions(error_of([&] { where(yes, x, Tensor::zeros({2}, DType::float64)); }),
                 {"[where]", "float64"}));
  CHECK(mentions(error_of([&] { where(yes, x, Tensor()); }), {"[where]", "undefined"}));
}

TEST_CASE("tril and triu keep a triangle of the last two axes") {
  const Tensor x = counting_from_one({3, 3});
  check_values(tril(x), {1, 0, 0, 4, 5, 0, 7, 8, 9});
  check_values(tril(x, 1), {1, 2, 0, 4, 5, 6, 7, 8, 9});
  check_values(tril(x, -1), {0, 0, 0, 4, 0, 0, 7, 8, 0});
  check_values(triu(x), {1, 2, 3, 0, 5, 6, 0, 0, 9});
  check_values(triu(x, 1), {0, 2, 3, 0, 0, 6, 0, 0, 0});
  check_values(triu(x, -5), x.to_vector());
  check_values(tril(x, -5), std::vector<double>(9, 0));
  check_values(tril(counting_from_one({2, 3})), {1, 0, 0, 4, 5, 0});
  check_values(triu(counting_from_one({2, 2, 2})), {1, 2, 0, 4, 5, 6, 0, 8});
  CHECK(tril(Tensor::zeros({0, 3})).shape() == Shape{0, 3});
}

TEST_CASE("tril and triu hide NaN outside their triangle") {
  check_values(tril(doubles({1, kNaN, 3, 4}, {2, 2})), {1, 0, 3, 4});
}

TEST_CASE("tril and triu take every type") {
  check_values(tril(ints({1, 2, 3, 4}, {2, 2})), {1, 0, 3, 4});
  const Tensor future = triu(Tensor::ones({3, 3}, DType::boolean), 1);
  CHECK(same_bits(future, causal_mask(3)));
  CHECK(tril(Tensor::ones({2, 2}, DType::bfloat16)).dtype() == DType::bfloat16);
}

TEST_CASE("tril and triu name themselves in errors") {
  CHECK(mentions(error_of([] { tril(Tensor::zeros({3})); }), {"[tril]", "two axes", "[3]"}));
  CHECK(mentions(error_of([] { triu(Tensor()); }), {"[triu]", "two axes"}));
}

TEST_CASE("a causal mask hides keys in a query's future") {
  check_values(causal_mask(3), {0, 1, 1, 0, 0, 1, 0, 0, 0});
  CHECK(causal_mask(3).dtype() == DType::boolean);
  check_values(causal_mask(2, 4), {0, 0, 0, 1, 0, 0, 0, 0});
  check_values(causal_mask(3, 2), {1, 1, 0, 1, 0, 0});
  CHECK(causal_mask(0).shape() == Shape{0, 0});
  check_values(causal_mask(1), {0});
}

TEST_CASE("a padding mask hides the positions after each sequence") {
  check_values(padding_mask({2, 0, 3}, 3), {0, 0, 1, 1, 1, 1, 0, 0, 0});
  CHECK(padding_mask({}, 4).shape() == Shape{0, 4});
  CHECK(mentions(error_of([] { padding_mask({2, 4}, 3); }), {"[padding_mask]", "3", "got 4"}));
  CHECK(mentions(error_of([] { padding_mask({-1}, 3); }), {"[padding_mask]", "got -1"}));
}

TEST_CASE("mask_from_keep turns a mask that keeps into one that hides") {
  check_values(mask_from_keep(ints({1, 0, 7}, {3})), {0, 1, 0});
  check_values(mask_from_keep(doubles({0, 0.5}, {2})), {1, 0});
  check_values(mask_from_keep(transpose(bools({true, true, false, false}, {2, 2}))), {0, 1, 0, 1});
  check_values(mask_from_keep(tril(Tensor::ones({3, 3}))), causal_mask(3).to_vector());
  CHECK(mentions(error_of([] { mask_from_keep(Tensor()); }), {"[mask_from_keep]"}));
}

TEST_CASE("combine_masks hides positions hidden by either mask") {
  const Tensor padding = reshape(padding_mask({3, 1}, 3), {2, 1, 3});
  const Tensor both = combine_masks(padding, causal_mask(3));
  CHECK(both.shape() == Shape{2, 3, 3});
  check_values(both, {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1});
  CHECK(mentions(error_of([] { combine_masks(causal_mask(2), causal_mask(3)); }),
                 {"[combine_masks]", "[2, 2]", "[3, 3]"}));
  CHECK(mentions(error_of([] {
                   combine_masks(causal_mask(2), Tensor::zeros({2, 2}));
                 }),
                 {"[combine_masks]", "bool", "float32"}));
}
}  // namespace mask_test
