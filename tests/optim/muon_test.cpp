#include "optim/optim_support.h"
#include "support/test.h"

namespace muon_test {
// Options without Newton-Schulz iterations: a step is then the change divided by its norm, which
// can be computed by hand.
MuonOptions plain(LearningRateAdjustment adjust = LearningRateAdjustment::original) {
  return {.momentum = 0.5,
          .nesterov = false,
          .weight_decay = 0,
          .adjust_lr_fn = adjust,
          .newton_schulz = {.steps = 0}};
}

Tensor after_one_step(const Shape& shape, const MuonOptions& options) {
  Tensor x = leaf(Tensor::zeros(shape, DType::float64));
  Muon optimizer({{"x", x}}, options);
  set_gradient(x, Tensor::full(shape, 3, DType::float64));
  optimizer.step(0.5);
  CHECK(optimizer.step_count() == 1);
  return x.detach();
}

TEST_CASE("Muon takes steps of constant size along the running mean of gradients") {
  Tensor x = leaf(doubles({1, 2}, {1, 2}));
  Muon optimizer({{"x", x}}, plain());
  set_gradient(x, doubles({6, 8}, {1, 2}));
  optimizer.step(0.5);  // mean (3, 4), direction (0.6, 0.8)
  check_values(optimizer.state()[0].second, {3, 4}, 1e-15);
  check_values(x, {0.7, 1.6}, 1e-15);
  set_gradient(x, doubles({3, -4}, {1, 2}));
  optimizer.step(0.5);  // mean (3, 0)
  check_values(x, {0.2, 1.6}, 1e-15);
}

TEST_CASE("Nesterov momentum of Muon adds the current gradient once more") {
  MuonOptions options = plain();
  options.nesterov = true;
  Tensor x = leaf(doubles({0, 0}, {1, 2}));
  Muon optimizer({{"x", x}}, options);
  set_gradient(x, doubles({8, 0}, {1, 2}));
  optimizer.step(1);  // mean (4, 0), Nesterov (6, 0)
  set_gradient(x, doubles({0, 8}, {1, 2}));
  optimizer.step(1);  // mean (2, 4), Nesterov (1, 6)
  check_values(x, {-1 - 1 / std::sqrt(37), -6 / std::sqrt(37)}, 1e-14);
}

TEST_CASE("Muon scales the learning rate with the shape, and decays by the rate itself") {
  const auto original = LearningRateAdjustment::original;
  const auto adamw = LearningRateAdjustment::match_rms_adamw;
  // Four equal elements: the direction is 1/2 in each.
  check_values(after_one_step({1, 4}, plain(original)), std::vector<double>(4, -0.25), 1e-15);
  check_values(after_one_step({4, 1}, plain(original)), std::vector<double>(4, -0.5), 1e-15);
  check_values(after_one_step({1, 4}, plain(adamw)), std::vector<double>(4, -0.1), 1e-15);
  check_values(after_one_step({4, 1}, plain(adamw)), std::vector<double>(4, -0.1), 1e-15);
  MuonOptions decaying = plain(adamw);
  decaying.weight_decay = 0.1;
  Tensor x = leaf(doubles({8}, {1, 1}));
  Muon optimizer({{"x", x}}, decaying);
  set_gradient(x, doubles({0}, {1, 1}));
  optimizer.step(0.5);
  CHECK(x.item() == Approx(8 * 0.95).epsilon(1e-15));
}

TEST_CASE("Muon updates blocks of rows as separate matrices") {
  const std::vector<Index> blocks{2, 1, 3};
  Tensor joined = leaf(noise({6, 5}, 1));
  Muon optimizer({{"joined", joined, blocks}}, {});
  std::vector<MuonMatrix> matrices;
  std::vector<Index> begins{0};
  for (const Index rows : blocks) {
    const Index begin = begins.back();
    begins.push_back(begin + rows);
    matrices.push_back(
        {std::to_string(begin), leaf(slice(joined.detach(), 0, begin, begin + rows).clone())});
  }
  Muon apart(matrices, {});
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Tensor gradient = noise({6, 5}, 10 + step);
    set_gradient(joined, gradient);
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      set_gradient(matrices[i].parameter, slice(gradient, 0, begins[i], begins[i + 1]).clone());
    }
    optimizer.step(0.1, 0.5);
    apart.step(0.1, 0.5);
  }
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    CHECK(same_bits(slice(joined.detach(), 0, begins[i], begins[i + 1]).clone(),
                    matrices[i].parameter.detach()));
  }
}

TEST_CASE("a clip scale given to Muon equals scaling the gradients beforehand") {
  Tensor folded = leaf(noise({4, 6}, 1));
  Tensor scaled = leaf(noise({4, 6}, 1));
  Muon first({{"x", folded}});
  Muon second({{"x", scaled}});
  for (std::uint64_t step = 0; step < 5; ++step) {
    const double scale = step % 2 == 0 ? 0.25 : 1;
    const Tensor gradient = noise({4, 6}, 10 + step);
    set_gradient(folded, gradient);
    set_gradient(scaled, gradient * scale);
    first.step(0.01, scale);
    second.step(0.01);
  }
  check_close(folded, scaled, 1e-15);
}

TEST_CASE("Muon leaves parameters without a gradient and their state alone") {
  Tensor used = leaf(noise({2, 3}, 1));
  Tensor unused = leaf(doubles({3, 4}, {1, 2}));
  Muon optimizer({{"used", used}, {"h.0.unused", unused}});
  set_gradient(used, noise({2, 3}, 2));
  optimizer.step(0.1);
  check_values(unused, {3, 4});
  CHECK(state_names(optimizer.state()) ==
        std::vector<std::string>{"momentum_buffer.used", "momentum_buffer.h.0.unused"});
  check_values(optimizer.state()[1].second, {0, 0});
}

TEST_CASE("backward refuses to run after a Muon step that followed the forward pass") {
  Tensor x = leaf(doubles({10, 20}, {1, 2}));
  Muon optimizer({{"x", x}});
  set_gradient(x, doubles({1, -2}, {1, 2}));
  const Tensor loss = sum(x * x);
  optimizer.step(0.5);
  check_error([&] { backward(loss); }, {"[backward] mul", "got version 1"});
}

TEST_CASE("Muon refuses invalid options and parameters") {
  const Tensor matrix = Tensor::ones({4, 3});
  CHECK_THROWS_WITH(Muon({}, {.momentum = 1}),
                    "[Muon] expected a momentum from 0 to below 1, got 1");
  CHECK_THROWS_WITH(Muon({}, {.weight_decay = -1}),
                    "[Muon] expected a weight_decay of at least 0, got -1");
  CHECK_THROWS_WITH(Muon({}, {.newton_schulz = {.steps = 100}}),
                    "[Muon] expected 0 to 99 steps of Newton-Schulz, got 100");
  CHECK_THROWS_WITH(Muon({{"x", Tensor::ones({3})}}),
                    "[Muon] x: expected a matrix of contiguous elements");
  CHECK_THROWS_WITH(Muon({{"x", matrix, {2, 1}}}),
                    "[Muon] x: expected blocks of its 4 rows, got 3");
  CHECK_THROWS_AS(Muon({{"x", matrix, {4, 0}}}), Error);
  CHECK_THROWS_AS(Muon({{"x", matrix, {5, -1}}}), Error);
}
}  // namespace muon_test
