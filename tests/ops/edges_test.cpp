#include "support/test.h"

// Ops at the edges of their numbers: NaN, infinity, 0, overflow, and nothing at all.
TEST_CASE("functions outside their domain give NaN or infinity, never an error") {
  check_values(log(doubles({-1, kNaN}, {2})), {kNaN, kNaN});
  check_values(sqrt(doubles({-1}, {1})), {kNaN});
  check_values(doubles({1, -1, 0}, {3}) / doubles({0, 0, 0}, {3}), {kInfinity, -kInfinity, kNaN});
  check_values(exp(doubles({kInfinity, -kInfinity, kNaN}, {3})), {kInfinity, 0, kNaN});
}

TEST_CASE("relu cuts negative values, has slope 0 at 0 and lets NaN through") {
  const Tensor x = leaf(doubles({-2, 0, 3, kNaN}, {4}));
  check_values(relu(x), {0, 0, 3, kNaN});
  backward(relu(slice(x, 0, 0, 3)), {.gradient = doubles({5, 5, 5}, {3})});
  check_values(x.grad(), {0, 0, 5, 0});
}

TEST_CASE("pow with exponent 0 has slope 0 everywhere, also at 0") {
  const Tensor x = leaf(doubles({0, 2}, {2}));
  backward(sum(pow(x, 0)));
  check_values(x.grad(), {0, 0});
}

TEST_CASE("NaN in one row of a product, a norm and of attention stays in that row") {
  const Tensor c = matmul(doubles({1, kNaN, 1, 1}, {2, 2}), doubles({1, 0, 0, 1}, {2, 2}));
  check_values(c, {kNaN, kNaN, 1, 1});
  check_values(layer_norm(doubles({kNaN, 1, 1, -1}, {2, 2}), {}, {}, 0), {kNaN, kNaN, 1, -1});
  const Tensor key = noise({2, 2}, 1);
  const AttentionResult attended = scaled_dot_product_attention(
      doubles({kNaN, 0, 0, 0}, {2, 2}), key, Tensor::ones({2, 1}, DType::float64), {});
  check_values(attended.output, {kNaN, 1}, 1e-15);
}

TEST_CASE("a row whose squares are too large for the type is NaN, not 0") {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    const Tensor x = convert(doubles({3e38, -3e38, 1, -1}, {2, 2}), DType::float32);
    const Tensor y = kind == NormKind::rms ? rms_norm(x, {}, 0) : layer_norm(x, {}, {}, 0);
    check_values(y, {kNaN, kNaN, 1, -1});
  }
}

TEST_CASE("softmax neither overflows nor underflows") {
  check_values(softmax(floats({1000, 1000}, {2})), {0.5, 0.5});
  check_values(softmax(floats({-1000, -1000, -2000}, {3})), {0.5, 0.5, 0});
  check_values(softmax(doubles({1e300, 0}, {2})), {1, 0});
  check_values(log_softmax(doubles({1000, 0}, {2})), {0, -1000});
  check_values(log_softmax(doubles({0, -kInfinity}, {2})), {0, -kInfinity});
}

TEST_CASE("softmax gives hidden scores 0 and a row without any visible score zeros") {
  check_values(softmax(doubles({-kInfinity, 0, -kInfinity, -kInfinity}, {2, 2})), {0, 1, 0, 0});
}

TEST_CASE("NaN is not hidden by softmax") {
  check_values(softmax(doubles({kNaN, 0}, {2})), {kNaN, kNaN});
  check_values(softmax(doubles({kNaN, kNaN}, {2})), {kNaN, kNaN});
  check_values(softmax(doubles({-kInfinity, kNaN}, {2})), {kNaN, kNaN});
  check_values(log_softmax(doubles({kNaN, 0}, {2})), {kNaN, kNaN});
  check_values(masked_softmax(doubles({kNaN, 0}, {2}), bools({false, true}, {2})), {kNaN, kNaN});
}

TEST_CASE("hidden scores get probability 0 and no gradient whatever their value") {
  const Tensor x = leaf(doubles({1, kNaN, 2, kInfinity, kNaN, 5}, {2, 3}));
  const Tensor mask = bools({false, true, false, true, true, true}, {2, 3});
  const Tensor y = masked_softmax(x, mask);
  CHECK(y.to_vector()[1] == 0);
  backward(y, {.gradient = doubles({1, 1e300, 0, 4, 5, 6}, {2, 3})});
  const double slope = 1 / (2 + std::exp(1.0) + std::exp(-1.0));
  check_values(x.grad(), {slope, 0, -slope, 0, 0, 0}, 1e-15);
}

TEST_CASE("masked_fill hides NaN, forward and backward") {
  const Tensor x = leaf(doubles({kNaN, 2}, {2}));
  const Tensor y = masked_fill(x, bools({true, false}, {2}), 0);
  check_values(y, {0, 2});
  backward(y, {.gradient = doubles({kNaN, 5}, {2})});
  check_values(x.grad(), {0, 5});
}

TEST_CASE("tril and triu hide NaN outside their triangle and take every type") {
  check_values(tril(doubles({1, kNaN, 3, 4}, {2, 2})), {1, 0, 3, 4});
  check_values(tril(ints({1, 2, 3, 4}, {2, 2})), {1, 0, 3, 4});
  const Tensor future = triu(Tensor::ones({3, 3}, DType::boolean), 1);
  CHECK(same_bits(future, causal_mask(3)));
  CHECK(tril(Tensor::ones({2, 2}, DType::bfloat16)).dtype() == DType::bfloat16);
}

TEST_CASE("attention with nothing to attend to gives zeros") {
  const auto attend = [](const Tensor& query, const Tensor& key, const Tensor& value) {
    return scaled_dot_product_attention(query, key, value, {}).output;
  };
  check_values(attend(Tensor::zeros({2, 3}), Tensor::zeros({0, 3}), Tensor::zeros({0, 1})), {0, 0});
  CHECK(attend(Tensor::zeros({0, 3}), Tensor::zeros({2, 3}), Tensor::zeros({2, 5})).shape() ==
        Shape{0, 5});
  check_values(attend(Tensor::zeros({1, 0}), Tensor::zeros({2, 0}), Tensor::ones({2, 1})), {1});
}

TEST_CASE("NaN logits give a NaN loss, and a logit of -infinity an infinite one") {
  check_values(cross_entropy(doubles({kNaN, 1, 0, 0}, {2, 2}), ints({1, 0}, {2})), {kNaN});
  check_values(cross_entropy(doubles({kNaN, kNaN}, {1, 2}), ints({1}, {1})), {kNaN});
  check_values(cross_entropy(doubles({-kInfinity, 0}, {1, 2}), ints({0}, {1})), {kInfinity});
}

TEST_CASE("the loss of preferences before training is log 2 and needs no overflow later") {
  // Two pairs with the log-probabilities -3, -1 and -2, -6.
  const std::vector<Index> offsets{0, 2, 3, 4, 6};
  const Tensor pairs = doubles({1, 2, 1, 2, 3.5, 2.5}, {6});
  const std::vector<PreferredPair> own = pair_log_probabilities(pairs, offsets);
  CHECK(preference_loss(pairs, offsets, own).item() == Approx(std::log(2.0)));
  const auto loss = [&](double margin) {
    return preference_loss(pairs, offsets, {{-3 - margin, -1}, {-2 - margin, -6}}, {.beta = 1})
        .item();
  };
  CHECK(loss(-1e6) == 1e6);
  CHECK(loss(1e6) == 0);
  CHECK(loss(40) == Approx(std::exp(-40.0)).epsilon(1e-12));
}

TEST_CASE("combine_masks hides positions hidden by either mask") {
  const Tensor padding = reshape(padding_mask({3, 1}, 3), {2, 1, 3});
  const Tensor both = combine_masks(padding, causal_mask(3));
  CHECK(both.shape() == Shape{2, 3, 3});
  check_values(both, {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1});
}

TEST_CASE("updating the running statistics does not change gradients of earlier evaluations") {
  const Tensor x = leaf(doubles({1, 2, 3, 6}, {4, 1}));
  RunningStatistics running{doubles({2}, {1}), doubles({4}, {1})};
  const Tensor gain = leaf(doubles({1}, {1}));
  const Tensor one = Tensor::ones({1}, DType::float64);
  const Tensor zero = Tensor::zeros({1}, DType::float64);
  const Tensor y = batch_norm(x, gain, zero, running, {.training = false, .epsilon = 0});
  batch_norm(x.detach(), one, zero, running);
  backward(sum(y));
  check_values(x.grad(), {0.5, 0.5, 0.5, 0.5}, 1e-15);
  check_values(gain.grad(), {2}, 1e-15);  // the sum of -0.5, 0, 0.5 and 2
}
