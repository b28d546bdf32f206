#include "support/test.h"

TEST_CASE("linear_cross_entropy sums its chunks of rows to the whole loss") {
  // A chunk holds the logits of two rows, so five rows take three chunks.
  constexpr Index kVocabulary = 6'000'000;
  const Tensor targets = ints({0, kVocabulary - 1, -1, 77, 77}, {5});
  const CrossEntropyOptions options{.normalizer = 4};
  const Tensor x = leaf(noise({5, 1}, 1, DType::float32));
  const Tensor weight = leaf(noise({kVocabulary, 1}, 2, DType::float32));
  const Tensor same_x = leaf(x.detach().clone());
  const Tensor same_weight = leaf(weight.detach().clone());
  const Tensor loss = linear_cross_entropy(x, weight, targets, options);
  backward(loss);
  double sum = 0;
  for (Index row = 0; row < 5; ++row) {
    const Tensor part = linear_cross_entropy(slice(same_x, 0, row, row + 1), same_weight,
                                             contiguous(slice(targets, 0, row, row + 1)), options);
    sum += part.item();
    backward(part);
  }
  CHECK(loss.item() == Approx(sum).epsilon(1e-6));
  check_close(x.grad(), same_x.grad(), 1e-6);
  const float* a = weight.grad().data<float>();
  const float* b = same_weight.grad().data<float>();
  float worst = 0;
  float largest = 0;
  for (Index i = 0; i < kVocabulary; ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  CHECK(worst < 1e-7F);
  CHECK(largest > 0.01F);
}

TEST_CASE("linear_cross_entropy without gradients computes the loss alone") {
  const NoGrad no_grad;
  const Tensor x = leaf(noise({4, 3}, 1));
  const Tensor loss = linear_cross_entropy(x, leaf(noise({5, 3}, 2)), ints({0, 1, 2, 3}, {4}));
  CHECK_FALSE(loss.requires_grad());
  CHECK(loss.item() > 0);
}
