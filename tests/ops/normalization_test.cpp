#include "support/test.h"

namespace normalization_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The first row has mean 3 and population variance 3.5, the second 0 and 0.5.
Tensor two_rows() { return doubles({1, 2, 3, 6, 1, -1, 0, 0}, {2, 4}); }

RunningStatistics fresh_statistics(Index channels, DType dtype = DType::float64) {
  return {Tensor::zeros({channels}, dtype), Tensor::ones({channels}, dtype)};
}

Tensor ones(Index size) { return Tensor::ones({size}, DType::float64); }
Tensor zeros(Index size) { return Tensor::zeros({size}, DType::float64); }

TEST_CASE("layer_norm normalises the last axis with the population variance") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-15;
    const Tensor y = layer_norm(convert(two_rows(), dtype), {}, {}, 0.5);
    CHECK(y.dtype() == dtype);
    check_values(y, {-1, -0.5, 0, 1.5, 1, -1, 0, 0}, tolerance);
  }
}

TEST_CASE("layer_norm scales by gain and adds shift, either of which may be missing") {
  const Tensor gain = doubles({1, 2, 3, 4}, {4});
  const Tensor shift = doubles({10, 20, 30, 40}, {4});
  const Tensor x = slice(two_rows(), 0, 0, 1);
  check_values(layer_norm(x, gain, shift, 0.5), {9, 19, 30, 46}, 1e-14);
  check_values(layer_norm(x, gain, {}, 0.5), {-1, -1, 0, 6}, 1e-14);
  check_values(layer_norm(x, {}, shift, 0.5), {9, 19.5, 30, 41.5}, 1e-14);
}

TEST_CASE("layer_norm of a constant row is the shift, and its gradient is finite") {
  const Tensor x = leaf(doubles({7, 7, 7}, {1, 3}));
  const Tensor y = layer_norm(x, {}, doubles({1, 2, 3}, {3}));
  check_values(y, {1, 2, 3});
  backward(y, {.gradient = doubles({1, 0, 0}, {1, 3})});
  const double factor = 1 / std::sqrt(1e-5);
  check_values(x.grad(), {factor * 2 / 3, -factor / 3, -factor / 3}, 1e-10);
}

TEST_CASE("layer_norm takes views, vectors and empty tensors") {
  check_values(layer_norm(transpose(transpose(two_rows()).clone()), {}, {}, 0.5),
               {-1, -0.5, 0, 1.5, 1, -1, 0, 0}, 1e-15);
  check_values(layer_norm(doubles({1, 2, 3, 6}, {4}), {}, {}, 0.5), {-1, -0.5, 0, 1.5}, 1e-15);
  check_values(layer_norm(doubles({5}, {1, 1}), {}, {}), {0});
  CHECK(layer_norm(Tensor::zeros({0, 3}), {}, {}).shape() == Shape{0, 3});
  CHECK(layer_norm(Tensor::zeros({3, 0}), {}, {}).shape() == Shape{3, 0});
}

TEST_CASE("NaN in one row of layer_norm stays in that row") {
  check_values(layer_norm(doubles({kNaN, 1, 1, -1}, {2, 2}), {}, {}, 0), {kNaN, kNaN, 1, -1});
}

TEST_CASE("a row whose squares are too large for the type is NaN, not 0") {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    const Tensor x = convert(doubles({3e38, -3e38, 1, -1}, {2, 2}), DType::float32);
    const Tensor y = kind == NormKind::rms ? rms_norm(x, {}, 0) : layer_norm(x, {}, {}, 0);
    check_values(y, {kNaN, kNaN, 1, -1});
  }
}

TEST_CASE("rms_norm divides the last axis by the root of its mean square") {
  // The mean squares are 12.5 and 0.5.
  const Tensor x = doubles({1, 2, 3, 6, 1, -1, 0, 0}, {2, 4});
  const double a = 1 / std::sqrt(12.5 + 0.5);
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-15;
    check_values(rms_norm(convert(x, dtype), {}, 0.5), {a, 2 * a, 3 * a, 6 * a, 1, -1, 0, 0},
                 tolerance);
  }
  check_values(rms_norm(slice(x, 0, 1, 2), doubles({1, 2, 3, 4}, {4}), 0.5), {1, -2, 0, 0}, 1e-15);
  CHECK(rms_norm(Tensor::zeros({0, 3}), {}).shape() == Shape{0, 3});
  CHECK(rms_norm(Tensor::zeros({3, 0}), {}).shape() == Shape{3, 0});
}

TEST_CASE("normalize adds a shift to either norm and takes gains of 1 + w") {
  const Tensor x = doubles({1, -1, 0, 0}, {1, 4});
  const Tensor gain = leaf(doubles({1, 2, 3, 4}, {4}));
  const Tensor shift = doubles({10, 20, 30, 40}, {4});
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    check_values(normalize(x, {gain, shift, 0.5, kind, false}), {11, 18, 30, 40}, 1e-14);
    const Tensor y = normalize(x, {gain, shift, 0.5, kind, true});
    check_values(y, {12, 17, 30, 40}, 1e-14);
    backward(y, {.gradient = Tensor::ones({1, 4}, DType::float64)});
    check_values(gain.grad(), {1, -1, 0, 0}, 1e-14);
    Tensor again = gain;
    again.zero_grad();
    check_values(normalize(x, {{}, {}, 0.5, kind, true}), {1, -1, 0, 0}, 1e-15);
  }
}

TEST_CASE("rms_norm names the argument that it refuses") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK(mentions(error_of([&] { rms_norm(x, Tensor::ones({2})); }), {"[rms_norm]", "[3]", "[2]"}));
  CHECK(mentions(error_of([&] { rms_norm(x, ones(3)); }), {"[rms_norm]", "float64", "float32"}));
  CHECK(mentions(error_of([] { rms_norm(Tensor::scalar(1), {}); }), {"[rms_norm]", "one axis"}));
  CHECK(mentions(error_of([] { rms_norm(Tensor(), {}); }), {"[rms_norm]"}));
  CHECK(mentions(error_of([] { rms_norm(ints({1}, {1}), {}); }), {"[rms_norm]", "int32"}));
}

TEST_CASE("layer_norm names the argument that it refuses") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK(mentions(error_of([&] { layer_norm(x, Tensor::ones({2}), {}); }),
                 {"[layer_norm]", "[3]", "[2]"}));
  CHECK(mentions(error_of([&] {
                   layer_norm(x, {}, Tensor::ones({1, 3}));
                 }),
                 {"[layer_norm]", "[3]", "[1, 3]"}));
  CHECK(mentions(error_of([&] { layer_norm(x, ones(3), {}); }),
                 {"[layer_norm]", "float64", "float32"}));
  CHECK(mentions(error_of([] { layer_norm(Tensor::scalar(1), {}, {}); }),
                 {"[layer_norm]", "one axis"}));
  CHECK(mentions(error_of([] { layer_norm(Tensor(), {}, {}); }), {"[layer_norm]"}));
  CHECK(mentions(error_of([] { layer_norm(ints({1}, {1}), {}, {}); }), {"[layer_norm]", "int32"}));
}

TEST_CASE("batch_norm normalises each channel over the batch while training") {
  // Channel 0 has mean 3 and variance 1.5, channel 1 mean 0 and variance 0.5.
  const Tensor x = doubles({1.5, 1, 3, 0, 4.5, -1, 3, 0}, {4, 2});
  RunningStatistics running = fresh_statistics(2);
  const Tensor gain = doubles({1, 2}, {2});
  const Tensor shift = doubles({0, 10}, {2});
  const Tensor y = batch_norm(x, gain, shift, running, {.epsilon = 0});
  const double a = 1.5 / std::sqrt(1.125);
  const double b = 2 / std::sqrt(0.5);
  check_values(y, {-a, 10 + b, 0, 10, a, 10 - b, 0, 10}, 1e-14);
}

TEST_CASE("batch_norm keeps running statistics with the unbiased variance") {
  const Tensor x = doubles({1, 2, 3, 6}, {4, 1});  // mean 3, variance 3.5, unbiased 14 / 3
  RunningStatistics running = fresh_statistics(1);
  batch_norm(x, ones(1), zeros(1), running);
  check_values(running.mean, {0.3}, 1e-15);
  check_values(running.variance, {0.9 + 0.1 * 14 / 3}, 1e-15);
  batch_norm(x, ones(1), zeros(1), running, {.momentum = 0.5});
  check_values(running.mean, {0.5 * 0.3 + 0.5 * 3}, 1e-15);
  CHECK_FALSE(running.mean.requires_grad());
}

TEST_CASE("batch_norm outside of training uses the running statistics without changing them") {
  const Tensor x = doubles({1, 2, 3, 6}, {4, 1});
  RunningStatistics running{doubles({2}, {1}), doubles({4}, {1})};
  check_values(batch_norm(x, ones(1), zeros(1), running, {.training = false, .epsilon = 0}),
               {-0.5, 0, 0.5, 2}, 1e-15);
  check_values(running.mean, {2});
  check_values(running.variance, {4});
  const Tensor single = slice(x, 0, 0, 1);
  check_values(batch_norm(single, ones(1), zeros(1), running, {.training = false, .epsilon = 0}),
               {-0.5}, 1e-15);
}

TEST_CASE("updating the running statistics does not change gradients of earlier evaluations") {
  const Tensor x = leaf(doubles({1, 2, 3, 6}, {4, 1}));
  RunningStatistics running{doubles({2}, {1}), doubles({4}, {1})};
  const Tensor gain = leaf(doubles({1}, {1}));
  const Tensor y = batch_norm(x, gain, zeros(1), running, {.training = false, .epsilon = 0});
  batch_norm(x.detach(), ones(1), zeros(1), running);
  backward(sum(y));
  check_values(x.grad(), {0.5, 0.5, 0.5, 0.5}, 1e-15);
  check_values(gain.grad(), {2}, 1e-15);  // the sum of -0.5, 0, 0.5 and 2
}

TEST_CASE("batch_norm of (N, C, L) counts the last axis as part of the batch") {
  const Tensor x = noise({3, 2, 4}, 1);
  RunningStatistics running = fresh_statistics(2);
  const Tensor y = batch_norm(x, ones(2), zeros(2), running, {.epsilon = 0});
  check_values(mean(y, {.axes = {0, 2}}), {0, 0}, 1e-14);
  check_values(var(y, {.axes = {0, 2}}, 0), {1, 1}, 1e-14);
  // Equals the normalisation of rows of channels.
  RunningStatistics other = fresh_statistics(2);
  const Tensor rows = reshape(permute(x, {0, 2, 1}), {12, 2});
  check_close(
      permute(reshape(batch_norm(rows, ones(2), zeros(2), other, {.epsilon = 0}), {3, 4, 2}),
              {0, 2, 1}),
      y, 1e-14);
  check_close(running.variance, other.variance, 1e-15);
}

TEST_CASE("a constant channel of batch_norm is the shift, not NaN") {
  RunningStatistics running = fresh_statistics(1);
  check_values(batch_norm(doubles({5, 5, 5}, {3, 1}), ones(1), doubles({2}, {1}), running),
               {2, 2, 2});
}

TEST_CASE("batch_norm in training sends no gradient for a common offset") {
  const Tensor x = leaf(doubles({1, 2, 4}, {3, 1}));
  RunningStatistics running = fresh_statistics(1);
  backward(batch_norm(x, ones(1), zeros(1), running),
           {.gradient = Tensor::ones({3, 1}, DType::float64)});
  check_values(x.grad(), {0, 0, 0}, 1e-15);
}

TEST_CASE("batch_norm names the argument that it refuses") {
  RunningStatistics running = fresh_statistics(2);
  const auto run = [&](const Tensor& x, const Tensor& gain, const Tensor& shift) {
    return error_of([&] { batch_norm(x, gain, shift, running); });
  };
  const Tensor x = Tensor::zeros({4, 2}, DType::float64);
  CHECK(mentions(run(zeros(4), ones(2), zeros(2)), {"[batch_norm]", "[N, C]"}));
  CHECK(mentions(run(Tensor(), ones(2), zeros(2)), {"[batch_norm]"}));
  CHECK(mentions(run(x, ones(3), zeros(2)), {"[batch_norm]", "[2]", "[3]"}));
  CHECK(mentions(run(convert(x, DType::float32), ones(2), zeros(2)),
                 {"[batch_norm]", "float64", "float32"}));
  CHECK(mentions(run(Tensor::zeros({1, 2}, DType::float64), ones(2), zeros(2)),
                 {"[batch_norm]", "more than one value", "[1, 2]"}));
  CHECK(mentions(run(Tensor::zeros({0, 2}, DType::float64), ones(2), zeros(2)),
                 {"[batch_norm]", "[0, 2]"}));
  running = fresh_statistics(3);
  CHECK(mentions(run(x, ones(2), zeros(2)), {"[batch_norm]", "running", "[2]", "[3]"}));
  running = {};
  CHECK(mentions(run(x, ones(2), zeros(2)), {"[batch_norm]", "must be given"}));
}
}  // namespace normalization_test
