#include "ops/packed_matrix.h"

#include "headlight/autograd/autograd.h"
#include "headlight/ops/matmul.h"
#include "support/tensors.h"

namespace packed_matrix_test {

using namespace headlight;
using namespace headlight::test;

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

TEST_CASE("packed_linear refuses inputs of another width or type") {
  const auto matrix =
      std::make_shared<const PackedMatrix>(Tensor::ones({4, 3}), Tensor(), WeightFormat::int8);
  CHECK_THROWS_WITH(packed_linear(Tensor::ones({2, 4}), matrix), contains_text("last axis"));
  CHECK_THROWS_WITH(packed_linear(Tensor::ones({2, 3}, DType::float64), matrix),
                    contains_text("expected float32"));
}

}  // namespace packed_matrix_test
