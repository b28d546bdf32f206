#include "support/test.h"

namespace mask_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("masked_fill hides NaN, forward and backward") {
  const Tensor x = leaf(doubles({kNaN, 2}, {2}));
  const Tensor y = masked_fill(x, bools({true, false}, {2}), 0);
  check_values(y, {0, 2});
  backward(y, {.gradient = doubles({kNaN, 5}, {2})});
  check_values(x.grad(), {0, 5});
}

TEST_CASE("masked_fill names a mask of the wrong shape or type") {
  const Tensor x = Tensor::zeros({2, 3});
  for (const Shape& shape : {Shape{2}, Shape{4, 2, 3}}) {
    const Tensor mask = Tensor::zeros(shape, DType::boolean);
    check_error([&] { masked_fill(x, mask, 0); }, {"[masked_fill]", concat_text(shape), "[2, 3]"});
  }
  check_error([&] { masked_fill(x, x, 0); },
              {"[masked_fill]", "bool", "float32", "use equal(mask, 0) if 0 hides"});
  check_error([&] { masked_fill(x, Tensor(), 0); }, {"[masked_fill]", "undefined"});
  check_error([] { masked_fill(Tensor(), Tensor(), 0); }, {"[masked_fill]"});
  check_error([] { masked_fill(ints({1}, {1}), bools({true}, {1}), 0); },
              {"[masked_fill]", "int32"});
}

TEST_CASE("where names the argument that it refuses") {
  const Tensor x = Tensor::zeros({2});
  const Tensor yes = bools({true}, {1});
  check_error([&] { where(x, x, x); }, {"[where]", "condition", "bool"});
  check_error([&] { where(yes, x, Tensor::zeros({3})); }, {"[where]", "[2]", "[3]"});
  check_error([&] { where(yes, x, Tensor::zeros({2}, DType::float64)); }, {"[where]", "float64"});
  check_error([&] { where(yes, x, Tensor()); }, {"[where]", "undefined"});
}

TEST_CASE("tril and triu hide NaN outside their triangle and take every type") {
  check_values(tril(doubles({1, kNaN, 3, 4}, {2, 2})), {1, 0, 3, 4});
  check_values(tril(ints({1, 2, 3, 4}, {2, 2})), {1, 0, 3, 4});
  const Tensor future = triu(Tensor::ones({3, 3}, DType::boolean), 1);
  CHECK(same_bits(future, causal_mask(3)));
  CHECK(tril(Tensor::ones({2, 2}, DType::bfloat16)).dtype() == DType::bfloat16);
}

TEST_CASE("tril and triu name themselves in errors") {
  check_error([] { tril(Tensor::zeros({3})); }, {"[tril]", "two axes", "[3]"});
  check_error([] { triu(Tensor()); }, {"[triu]", "two axes"});
}

TEST_CASE("combine_masks hides positions hidden by either mask") {
  const Tensor padding = reshape(padding_mask({3, 1}, 3), {2, 1, 3});
  const Tensor both = combine_masks(padding, causal_mask(3));
  CHECK(both.shape() == Shape{2, 3, 3});
  check_values(both, {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1});
  check_error([] { combine_masks(causal_mask(2), causal_mask(3)); },
              {"[combine_masks]", "[2, 2]", "[3, 3]"});
  const Tensor zeros = Tensor::zeros({2, 2});
  check_error([&] { combine_masks(causal_mask(2), zeros); },
              {"[combine_masks]", "bool", "float32"});
}
}  // namespace mask_test
