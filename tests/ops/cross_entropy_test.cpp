#include "support/test.h"

namespace cross_entropy_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kLn2 = std::log(2.0);
const double kLn3 = std::log(3.0);

// Logits with the probabilities [1/6, 1/3, 1/2] and [1/3, 1/3, 1/3].
Tensor two_rows() { return doubles({0, kLn2, kLn3, 4, 4, 4}, {2, 3}); }

TEST_CASE("cross_entropy is the mean of the negative log probabilities of the targets") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-15;
    const Tensor logits = convert(two_rows(), dtype);
    const Tensor loss = cross_entropy(logits, ints({2, 0}, {2}));
    CHECK(loss.rank() == 0);
    CHECK(loss.dtype() == dtype);
    check_values(loss, {(kLn2 + kLn3) / 2}, tolerance);
    check_values(cross_entropy(logits, ints({0, 1}, {2})), {(std::log(6.0) + kLn3) / 2}, tolerance);
  }
}

TEST_CASE("the gradient of cross_entropy is the probabilities minus the one-hot targets") {
  const Tensor logits = leaf(two_rows());
  backward(cross_entropy(logits, ints({2, 0}, {2})));
  check_values(logits.grad(), {1.0 / 12, 1.0 / 6, -0.25, -1.0 / 3, 1.0 / 6, 1.0 / 6}, 1e-15);
}

TEST_CASE("ignored targets count neither in the sum nor in the number") {
  const Tensor logits = leaf(two_rows());
  const Tensor loss = cross_entropy(logits, ints({-1, 0}, {2}));
  check_values(loss, {kLn3}, 1e-15);
  backward(loss);
  check_values(logits.grad(), {0, 0, 0, -2.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-15);
  check_values(cross_entropy(two_rows(), ints({2, 0}, {2}), {.ignore_index = 2}), {kLn3}, 1e-15);
  check_values(cross_entropy(two_rows(), ints({2, -100}, {2}), {.ignore_index = -100}), {kLn2},
               1e-15);
}

TEST_CASE("if all targets are ignored the loss and the gradient are 0") {
  const Tensor logits = leaf(doubles({1, kNaN}, {1, 2}));
  const Tensor loss = cross_entropy(logits, ints({-1}, {1}));
  CHECK(loss.item() == 0);
  backward(loss);
  check_values(logits.grad(), {0, 0});
  CHECK(cross_entropy(Tensor::zeros({0, 5}), ints({}, {0})).item() == 0);
}

TEST_CASE("losses of parts of a batch with the normalizer of the whole sum to the whole loss") {
  const Tensor logits = noise({6, 4}, 1);
  const Tensor targets = ints({0, -1, 3, 2, -1, 1}, {6});
  const double whole = cross_entropy(logits, targets).item();
  double pieces = 0;
  for (Index start = 0; start < 6; start += 2) {
    pieces += cross_entropy(slice(logits, 0, start, start + 2),
                            contiguous(slice(targets, 0, start, start + 2)), {.normalizer = 4})
                  .item();
  }
  CHECK(pieces == Approx(whole).epsilon(1e-14));
}

TEST_CASE("large logits neither overflow nor lose precision of the loss") {
  check_values(cross_entropy(floats({1000, 0}, {1, 2}), ints({1}, {1})), {1000});
  check_values(cross_entropy(floats({-1000, -1000}, {1, 2}), ints({1}, {1})), {kLn2}, 1e-6);
  check_values(cross_entropy(floats({1000, 0}, {1, 2}), ints({0}, {1})), {0});
}

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

TEST_CASE("linear_cross_entropy equals cross_entropy of linear, forward and backward") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-14;
    const std::vector<Tensor> one{leaf(noise({9, 5}, 1, dtype)), leaf(noise({7, 5}, 2, dtype))};
    const std::vector<Tensor> other{leaf(one[0].clone()), leaf(one[1].clone())};
    const Tensor targets = ints({0, 6, -1, 3, 3, 2, -1, 1, 5}, {9});
    const Tensor fused = linear_cross_entropy(one[0], one[1], targets);
    const Tensor plain = cross_entropy(linear(other[0], other[1]), targets);
    check_values(fused, plain.to_vector(), tolerance);
    backward(3.0 * fused);
    backward(3.0 * plain);
    check_close(one[0].grad(), other[0].grad(), tolerance);
    check_close(one[1].grad(), other[1].grad(), tolerance);
  }
}

TEST_CASE("a soft cap of linear_cross_entropy equals cross_entropy of capped logits") {
  const std::vector<Tensor> one{leaf(noise({9, 5}, 1, DType::float64)),
                                leaf(noise({7, 5}, 2, DType::float64))};
  const std::vector<Tensor> other{leaf(one[0].clone()), leaf(one[1].clone())};
  const Tensor targets = ints({0, 6, -1, 3, 3, 2, -1, 1, 5}, {9});
  const Tensor fused = linear_cross_entropy(one[0], one[1], targets, {.cap = 0.6});
  const Tensor plain = cross_entropy(soft_cap(linear(other[0], other[1]), 0.6), targets);
  check_values(fused, plain.to_vector(), 1e-14);
  backward(fused);
  backward(plain);
  check_close(one[0].grad(), other[0].grad(), 1e-14);
  check_close(one[1].grad(), other[1].grad(), 1e-14);
  check_values(sum(linear_cross_entropy_rows(one[0], one[1], targets, {.cap = 0.6})) / 7.0,
               plain.to_vector(), 1e-14);
  CHECK(mentions(error_of([&] { linear_cross_entropy(one[0], one[1], targets, {.cap = -1}); }),
                 {"cap: expected 0 or a positive number, got -1"}));
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
  CHECK(mentions(error_of([&] { linear_cross_entropy(Tensor::zeros({3}), weight, targets); }),
                 {"[linear_cross_entropy]", "[N, C]"}));
  CHECK(mentions(error_of([&] { linear_cross_entropy(x, Tensor(), targets); }),
                 {"[linear_cross_entropy]"}));
  CHECK(mentions(error_of([&] {
                   linear_cross_entropy(x, Tensor::zeros({4, 2}), targets);
                 }),
                 {"[2, 3]", "[4, 2]"}));
  CHECK(mentions(error_of([&] {
                   linear_cross_entropy(x, weight, ints({0, 4}, {2}));
                 }),
                 {"got 4", "position 1"}));
  CHECK(mentions(error_of([&] {
                   linear_cross_entropy(x, Tensor::zeros({4, 3}, DType::float64), targets);
                 }),
                 {"float64"}));
}

TEST_CASE("linear_cross_entropy_rows gives the loss of every row, 0 where none is wanted") {
  const Tensor x = leaf(doubles({1, 0, 0, 1, 2, 2}, {3, 2}));
  const Tensor weight = leaf(doubles({0, 0, kLn2, 0, kLn3, 0}, {3, 2}));  // logits: see two_rows
  const Tensor rows =
      linear_cross_entropy_rows(x, weight, ints({2, 1, -1}, {3}), {.ignore_index = -1});
  CHECK(rows.dtype() == DType::float64);
  check_values(rows, {kLn2, kLn3, 0}, 1e-15);
  // Gradients of logits: {1/6, 1/3, -1/2} and -2 {1/3, -2/3, 1/3}.
  backward(sum(rows * doubles({1, -2, 5}, {3})));
  check_values(x.grad(), {kLn2 / 3 - kLn3 / 2, 0, 4 * kLn2 / 3 - 2 * kLn3 / 3, 0, 0, 0}, 1e-15);
  check_values(weight.grad(), {1.0 / 6, -2.0 / 3, 1.0 / 3, 4.0 / 3, -0.5, -2.0 / 3}, 1e-15);
}
}  // namespace cross_entropy_test
