#include "support/test.h"

namespace cross_entropy_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kLn2 = std::log(2.0);
const double kLn3 = std::log(3.0);

// Logits with the probabilities [1/6, 1/3, 1/2] and [1/3, 1/3, 1/3].
Tensor two_rows() { return doubles({0, kLn2, kLn3, 4, 4, 4}, {2, 3}); }

TEST_CASE("NaN logits give a NaN loss, and a logit of -infinity an infinite one") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  check_values(cross_entropy(doubles({kNaN, 1, 0, 0}, {2, 2}), ints({1, 0}, {2})), {kNaN});
  check_values(cross_entropy(doubles({kNaN, kNaN}, {1, 2}), ints({1}, {1})), {kNaN});
  check_values(cross_entropy(doubles({-kInfinity, 0}, {1, 2}), ints({0}, {1})), {kInfinity});
}

TEST_CASE("cross_entropy leaves its logits as they were") {
  const Tensor logits = noise({3, 5}, 1);
  const Tensor before = logits.clone();
  cross_entropy(logits, ints({0, 1, 2}, {3}));
  CHECK(same_bits(logits, before));
}

TEST_CASE("cross_entropy refuses targets outside the vocabulary, naming the position") {
  const auto message = [](std::initializer_list<std::int32_t> targets) {
    return error_of([&] { cross_entropy(two_rows(), ints(targets, {2})); });
  };
  CHECK(mentions(message({0, 3}), {"[cross_entropy]", "0 to 2", "got 3", "position 1"}));
  CHECK(mentions(message({-2, 0}), {"[cross_entropy]", "got -2", "position 0"}));
}

TEST_CASE("cross_entropy names the argument that it refuses") {
  const auto message = [](const Tensor& logits, const Tensor& targets) {
    return error_of([&] { cross_entropy(logits, targets); });
  };
  const Tensor targets = ints({0, 0}, {2});
  CHECK(mentions(message(Tensor::zeros({2}), targets), {"[cross_entropy]", "[N, V]"}));
  CHECK(mentions(message(Tensor(), targets), {"[cross_entropy]"}));
  CHECK(mentions(message(two_rows(), ints({0}, {1})), {"[cross_entropy]", "[2]", "[1]"}));
  CHECK(mentions(message(two_rows(), Tensor::zeros({2})), {"[cross_entropy]", "int32", "float32"}));
  CHECK(mentions(message(two_rows(), Tensor()), {"[cross_entropy]", "undefined"}));
  CHECK(mentions(message(two_rows(), slice(ints({0, 1, 2}, {3}), 0, 0, 3, 2)),
                 {"[cross_entropy]", "contiguous"}));
  CHECK(mentions(message(ints({1, 2}, {1, 2}), ints({0}, {1})), {"[cross_entropy]", "int32"}));
}

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

TEST_CASE("linear_cross_entropy names the argument that it refuses") {
  const Tensor x = Tensor::zeros({2, 3});
  const Tensor weight = Tensor::zeros({4, 3});
  const Tensor targets = ints({0, 1}, {2});
  check_error([&] { linear_cross_entropy(Tensor::zeros({3}), weight, targets); },
              {"[linear_cross_entropy]", "[N, C]"});
  check_error([&] { linear_cross_entropy(x, Tensor(), targets); }, {"[linear_cross_entropy]"});
  const Tensor narrow = Tensor::zeros({4, 2});
  const Tensor wide = Tensor::zeros({4, 3}, DType::float64);
  check_error([&] { linear_cross_entropy(x, narrow, targets); }, {"[2, 3]", "[4, 2]"});
  check_error([&] { linear_cross_entropy(x, weight, ints({0, 4}, {2})); }, {"got 4", "position 1"});
  check_error([&] { linear_cross_entropy(x, wide, targets); }, {"float64"});
}
}  // namespace cross_entropy_test
