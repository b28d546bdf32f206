#include "optim/optim_support.h"
#include "support/cpu_variants.h"
#include "support/test.h"

// AdamW for a single number (Loshchilov and Hutter, arXiv 1711.05101, Algorithm 2), in double.
struct ScalarAdamW {
  AdamWOptions options;
  double value = 0;
  double mean = 0;
  double variance = 0;
  int t = 0;

  void step(double rate, double gradient, bool decays) {
    ++t;
    mean = options.beta1 * mean + (1 - options.beta1) * gradient;
    variance = options.beta2 * variance + (1 - options.beta2) * gradient * gradient;
    const double unbiased_mean = mean / (1 - std::pow(options.beta1, t));
    const double unbiased_variance = variance / (1 - std::pow(options.beta2, t));
    value -= rate * (unbiased_mean / (std::sqrt(unbiased_variance) + options.epsilon) +
                     (decays ? options.weight_decay : 0) * value);
  }
};

// Compares 20 steps on a matrix and a vector with changing gradients, rates and clip scales.
void check_against_scalars(DType dtype, const AdamWOptions& options, double tolerance) {
  NamedTensors parameters{{"matrix", leaf(noise({6, 7}, 1, dtype))}};
  for (const Index size : {1, 7, 16, 67}) {  // around every vector width
    parameters.emplace_back(std::to_string(size), leaf(noise({size}, 2, dtype)));
  }
  std::vector<std::vector<ScalarAdamW>> expected;
  for (const auto& [name, parameter] : parameters) {
    auto& scalars = expected.emplace_back();
    for (const double value : parameter.to_vector()) {
      scalars.push_back({.options = options, .value = value});
    }
  }
  AdamW optimizer(parameters, options);
  for (int step = 1; step <= 20; ++step) {
    const double rate = 0.01 / step;
    const double scale = step % 3 == 0 ? 0.25 : 1;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      Tensor parameter = parameters[k].second;
      const auto stream = static_cast<std::uint64_t>(100 * step) + k;
      const Tensor gradient = noise(parameter.shape(), stream, dtype);
      set_gradient(parameter, gradient);
      const std::vector<double> values = gradient.to_vector();
      for (std::size_t i = 0; i < values.size(); ++i) {
        expected[k][i].step(rate, scale * values[i], parameter.rank() >= 2);
      }
    }
    optimizer.step(rate, scale);
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const auto values =
        mapped<double>(expected[k], [&](const ScalarAdamW& scalar) { return scalar.value; });
    check_values(parameters[k].second, values, tolerance);
  }
  CHECK(optimizer.step_count() == 20);
}

TEST_CASE("twenty AdamW updates of tensors agree with scalars, decay and clip scale included") {
  check_against_scalars(DType::float64, {}, 1e-13);
  with_each_variant([] { check_against_scalars(DType::float32, {}, 1e-6); });
  const AdamWOptions others{.beta1 = 0.5, .beta2 = 0.999, .epsilon = 0.1, .weight_decay = 2};
  check_against_scalars(DType::float64, others, 1e-13);
}

TEST_CASE("AdamW decays tensors with two or more axes and no others") {
  std::vector<Tensor> tensors;
  NamedTensors parameters;
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{1, 1}, Shape{1}, Shape{}}) {
    tensors.push_back(leaf(Tensor::full(shape, 4, DType::float64)));
    parameters.emplace_back(std::to_string(shape.rank()), tensors.back());
    set_gradient(tensors.back(), Tensor::zeros(shape, DType::float64));
  }
  AdamW optimizer(parameters, {.weight_decay = 0.5});
  optimizer.step(0.25);
  optimizer.step(0.25);
  // Each of two steps multiplies by 1 - rate 0.25 * decay 0.5; zero gradients change nothing.
  CHECK(tensors[0].item() == Approx(4 * 0.875 * 0.875).epsilon(1e-15));
  CHECK(tensors[1].item() == Approx(4 * 0.875 * 0.875).epsilon(1e-15));
  CHECK(tensors[2].item() == 4);
  CHECK(tensors[3].item() == 4);
}

TEST_CASE("AdamW without any options uses the betas and the decay of GPT training") {
  Tensor x = leaf(doubles({2}, {1, 1}));
  set_gradient(x, doubles({0.5}, {1, 1}));
  AdamW optimizer({{"x", x}});
  optimizer.step(0.01);
  check_values(optimizer.state()[0].second, {0.1 * 0.5}, 1e-16);
  check_values(optimizer.state()[1].second, {0.05 * 0.25}, 1e-16);
  CHECK(x.item() == Approx(2 * (1 - 0.01 * 0.1) - 0.01).epsilon(1e-9));
}

TEST_CASE("the state of AdamW is named after the parameters and shared with the optimizer") {
  Tensor x = leaf(doubles({1, 2}, {2}));
  Tensor y = leaf(Tensor::ones({2, 3}));
  AdamW optimizer({{"x", x}, {"h.0.y", y}}, {.beta1 = 0.75, .beta2 = 0.5});
  const NamedTensors state = optimizer.state();
  CHECK(state_names(state) ==
        std::vector<std::string>{"exp_avg.x", "exp_avg_sq.x", "exp_avg.h.0.y", "exp_avg_sq.h.0.y"});
  CHECK(state[2].second.shape() == Shape{2, 3});
  CHECK(state[2].second.dtype() == DType::float32);
  CHECK(state[0].second.dtype() == DType::float64);
  set_gradient(x, doubles({4, -2}, {2}));
  optimizer.step(0.1);
  check_values(state[0].second, {1, -0.5});
  check_values(state[1].second, {8, 2});
}
