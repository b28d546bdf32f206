#include "optim/optim_support.h"
#include "support/test.h"

// Makes two steps with gradients (1, -2) and (3, 0.5) at a learning rate of 0.5, from (10, 20).
std::vector<double> after_two_steps(const SgdOptions& options, const Shape& shape) {
  Tensor x = leaf(doubles({10, 20}, shape));
  Sgd optimizer({{"x", x}}, options);
  set_gradient(x, doubles({1, -2}, shape));
  optimizer.step(0.5);
  set_gradient(x, doubles({3, 0.5}, shape));
  optimizer.step(0.5);
  CHECK(optimizer.step_count() == 2);
  return x.to_vector();
}

TEST_CASE("two steps of SGD give the values computed by hand") {
  struct Row {
    SgdOptions options;
    Shape shape;
    std::vector<double> expected;
  };
  const std::vector<Row> rows{
      // 10 - 0.5 * (1 + 3), 20 - 0.5 * (-2 + 0.5)
      {{}, {2}, {8, 20.75}},
      // Velocities (1, -2), then 0.5 * (1, -2) + (3, 0.5) = (3.5, -0.5).
      {{.momentum = 0.5}, {2}, {7.75, 21.25}},
      // Changes g + 0.5 v: (1.5, -3), then (3, 0.5) + 0.5 * (3.5, -0.5) = (4.75, 0.25).
      {{.momentum = 0.5, .nesterov = true}, {2}, {10 - 0.5 * 6.25, 20 - 0.5 * -2.75}},
      // x -= 0.5 * (g + 0.25 x) for tensors with two or more axes:
      // 10 -> 8.25, 20 -> 18.5, then 8.25 -> 5.71875, 18.5 -> 15.9375.
      {{.weight_decay = 0.25}, {2, 1}, {5.71875, 15.9375}},
      {{.weight_decay = 0.25}, {2}, {8, 20.75}},
      // g + 0.25 x is (3.5, 3), x becomes (8.25, 18.5); then (5.0625, 5.125) + 0.5 * (3.5, 3).
      {{.momentum = 0.5, .weight_decay = 0.25}, {1, 2}, {8.25 - 0.5 * 6.8125, 18.5 - 0.5 * 6.625}}};
  for (const Row& row : rows) {
    CAPTURE(row.options.momentum, row.options.nesterov, row.options.weight_decay, row.shape);
    CHECK(after_two_steps(row.options, row.shape) == row.expected);
  }
}

TEST_CASE("SGD multiplies gradients by the clip scale, but not the weight decay") {
  Tensor x = leaf(doubles({10}, {1, 1}));
  set_gradient(x, doubles({4}, {1, 1}));
  Sgd optimizer({{"x", x}}, {.weight_decay = 0.5});
  optimizer.step(0.5, 0.25);
  CHECK(x.item() == 10 - 0.5 * (4 * 0.25 + 0.5 * 10));
}

TEST_CASE("SGD computes in the type of its parameters") {
  Tensor x = leaf(floats({10, 20}, {2}));
  set_gradient(x, floats({1, -2}, {2}));
  Sgd optimizer({{"x", x}}, {.momentum = 0.5});
  optimizer.step(0.5);
  CHECK(optimizer.state()[0].second.dtype() == DType::float32);
  check_values(x, {9.5, 21});
}

TEST_CASE("the state of SGD is the velocities and is empty without momentum") {
  Tensor x = leaf(doubles({1, 2}, {2}));
  CHECK(Sgd({{"x", x}}).state().empty());
  Sgd optimizer({{"h.0.x", x}}, {.momentum = 0.5});
  const NamedTensors state = optimizer.state();
  CHECK(state_names(state) == std::vector<std::string>{"momentum_buffer.h.0.x"});
  set_gradient(x, doubles({4, -2}, {2}));
  optimizer.step(0.5);
  check_values(state[0].second, {4, -2});
  optimizer.step(0.5);
  check_values(state[0].second, {6, -3});
}
