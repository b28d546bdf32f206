#include "support/test.h"

namespace normalization_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

RunningStatistics fresh_statistics(Index channels, DType dtype = DType::float64) {
  return {Tensor::zeros({channels}, dtype), Tensor::ones({channels}, dtype)};
}

Tensor ones(Index size) { return Tensor::ones({size}, DType::float64); }
Tensor zeros(Index size) { return Tensor::zeros({size}, DType::float64); }

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

TEST_CASE("rms_norm names the argument that it refuses") {
  const Tensor x = Tensor::zeros({2, 3});
  check_error([&] { rms_norm(x, Tensor::ones({2})); }, {"[rms_norm]", "[3]", "[2]"});
  check_error([&] { rms_norm(x, ones(3)); }, {"[rms_norm]", "float64", "float32"});
  check_error([] { rms_norm(Tensor::scalar(1), {}); }, {"[rms_norm]", "one axis"});
  check_error([] { rms_norm(Tensor(), {}); }, {"[rms_norm]"});
  check_error([] { rms_norm(ints({1}, {1}), {}); }, {"[rms_norm]", "int32"});
}

TEST_CASE("layer_norm names the argument that it refuses") {
  const Tensor x = Tensor::zeros({2, 3});
  check_error([&] { layer_norm(x, Tensor::ones({2}), {}); }, {"[layer_norm]", "[3]", "[2]"});
  check_error([&] { layer_norm(x, {}, Tensor::ones({1, 3})); }, {"[layer_norm]", "[3]", "[1, 3]"});
  check_error([&] { layer_norm(x, ones(3), {}); }, {"[layer_norm]", "float64", "float32"});
  check_error([] { layer_norm(Tensor::scalar(1), {}, {}); }, {"[layer_norm]", "one axis"});
  check_error([] { layer_norm(Tensor(), {}, {}); }, {"[layer_norm]"});
  check_error([] { layer_norm(ints({1}, {1}), {}, {}); }, {"[layer_norm]", "int32"});
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
