#include "optim/optim_support.h"
#include "support/cpu_variants.h"
#include "support/test.h"

// Values of a matrix and vectors after 20 steps with changing gradients, rates and clip scales.
std::vector<double> after_twenty_steps(DType dtype) {
  NamedTensors parameters{{"matrix", leaf(convert(noise({6, 7}, 1), dtype))}};
  for (const Index size : {1, 7, 16, 67}) {  // around every vector width
    parameters.emplace_back(std::to_string(size), leaf(convert(noise({size}, 2), dtype)));
  }
  AdamW optimizer(parameters);
  std::uint64_t stream = 100;
  for (int step = 1; step <= 20; ++step) {
    for (auto [name, parameter] : parameters) {
      set_gradient(parameter, convert(noise(parameter.shape(), ++stream), dtype));
    }
    optimizer.step(0.01 / step, step % 3 == 0 ? 0.25 : 1);
  }
  CHECK(optimizer.step_count() == 20);
  std::vector<double> values;
  for (const auto& [name, parameter] : parameters) {
    const std::vector<double> own = parameter.to_vector();
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

// Cases of parity compare the values of float64 with PyTorch's.
TEST_CASE("AdamW has the same values in float64 and with every instruction set in float32") {
  const std::vector<double> expected = after_twenty_steps(DType::float64);
  with_each_variant([&] {
    check_values(Tensor::from(after_twenty_steps(DType::float32), {std::ssize(expected)}), expected,
                 1e-6);
  });
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
