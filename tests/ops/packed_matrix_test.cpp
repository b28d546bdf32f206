#include "nn/packed/packed_matrix.h"
#include "support/test.h"

TEST_CASE("packed_linear equals linear with the unpacked weights") {
  const Shape shape = GENERATE(Shape{5, 3}, Shape{1000, 300});  // the second takes two steps
  const Tensor weight = random_normal(shape, {1, 0});
  const Tensor bias = random_normal({shape[0]}, {2, 0});
  for (const WeightFormat format : {WeightFormat::float32, WeightFormat::int8}) {
    const auto matrix = std::make_shared<const PackedMatrix>(weight, bias, format);
    Tensor x = leaf(random_normal({2, 7, shape[1]}, {3, 0}));
    Tensor same = leaf(x.detach().clone());
    const Tensor value = packed_linear(x, matrix);
    const Tensor expected = linear(same, matrix->unpacked(0, shape[0]), bias);
    check_close(value, expected, 1e-4);
    const Tensor grad = random_normal(value.shape(), {4, 0});
    backward(value, {.gradient = grad});
    backward(expected, {.gradient = grad});
    check_close(x.grad(), same.grad(), 1e-4);
  }
}

TEST_CASE("rounded products equal products with rounded inputs") {
  const Tensor weight = random_normal({70, 96}, {1, 0});
  const Tensor bias = random_normal({70}, {2, 0});
  const Tensor x = random_normal({37, 96}, {3, 0});
  const PackedMatrix coarse(weight, bias, WeightFormat::bfloat16);
  if (coarse.has_rounded_product()) {
    Tensor rounded = x.clone();
    std::transform(x.data<float>(), x.data<float>() + x.numel(), rounded.data<float>(),
                   [](float value) { return static_cast<float>(BFloat16(value)); });
    check_close(coarse.rounded_product(x), linear(rounded, coarse.unpacked(0, 70), bias), 1e-4);
  }
  const PackedMatrix integers(weight, bias, WeightFormat::int8);
  if (integers.has_rounded_product()) {
    check_close(integers.rounded_product(x), integers.product(x), 0.3);
  }
  CHECK(!PackedMatrix(weight, bias, WeightFormat::float32).has_rounded_product());
}

TEST_CASE("packed_linear refuses inputs of another width or type") {
  const auto matrix =
      std::make_shared<const PackedMatrix>(Tensor::ones({4, 3}), Tensor(), WeightFormat::int8);
  CHECK_THROWS_WITH(packed_linear(Tensor::ones({2, 4}), matrix), contains_text("last axis"));
  CHECK_THROWS_WITH(packed_linear(Tensor::ones({2, 3}, DType::float64), matrix),
                    contains_text("expected float32"));
}

TEST_CASE("values that bfloat16 rounds to infinity are refused") {
  // Half-way between the largest bfloat16 and 2^128; the tie is rounded up.
  const Tensor weight = Tensor::full({1, 2}, 0x1.FFp127);
  const Tensor largest = Tensor::full({1, 2}, 0x1.FEFp127);
  for (const WeightFormat format : {WeightFormat::bfloat16, WeightFormat::int8}) {
    CHECK_THROWS_WITH(PackedMatrix(weight, {}, format), contains_text("not finite once"));
    CHECK_NOTHROW(PackedMatrix(largest, {}, format));
  }
  CHECK_NOTHROW(PackedMatrix(weight, {}, WeightFormat::float32));
}
