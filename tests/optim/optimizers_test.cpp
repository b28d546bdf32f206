#include "optim/optim_support.h"
#include "support/test.h"

// Promises that every optimizer keeps.

struct Kind {
  std::string name;
  std::vector<std::string> moments;
  std::function<std::unique_ptr<Optimizer>(const NamedTensors&)> make;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"AdamW",
       {"exp_avg", "exp_avg_sq"},
       [](const NamedTensors& parameters) { return std::make_unique<AdamW>(parameters); }},
      {"Sgd",
       {"momentum_buffer"},
       [](const NamedTensors& parameters) {
         return std::make_unique<Sgd>(parameters, SgdOptions{.momentum = 0.5});
       }},
      {"Muon", {"momentum_buffer"}, [](const NamedTensors& parameters) {
         std::vector<MuonMatrix> matrices;
         for (const auto& [name, tensor] : parameters) {
           matrices.push_back({name, tensor});
         }
         return std::make_unique<Muon>(matrices);
       }}};
  return all;
}

Tensor start(DType dtype = DType::float64) { return leaf(noise({5, 7}, 1, dtype)); }

Tensor gradient_of_step(std::uint64_t step, DType dtype = DType::float64) {
  return noise({5, 7}, 10 + step, dtype) * 3.0;
}

TEST_CASE("backward refuses to run after an optimizer's step that followed the forward pass") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    Tensor x = start();
    const auto optimizer = kind.make({{"x", x}});
    set_gradient(x, gradient_of_step(0));
    const Tensor loss = sum(x * x);
    optimizer->step(0.5);
    check_error([&] { backward(loss); }, {"[backward] mul", "got version 1"});
  }
}

TEST_CASE("optimizers leave parameters without a gradient and their state alone") {
  for (const Kind& kind : kinds()) {
    Tensor used = start();
    Tensor unused = leaf(doubles({3, 4}, {1, 2}));
    const auto optimizer = kind.make({{"used", used}, {"h.0.unused", unused}});
    set_gradient(used, gradient_of_step(0));
    optimizer->step(0.1);
    check_values(unused, {3, 4});
    CHECK_FALSE(same_bits(used.detach(), start().detach()));
    std::vector<std::string> names;
    for (const char* parameter : {".used", ".h.0.unused"}) {
      for (const std::string& moment : kind.moments) {
        names.push_back(moment + parameter);
      }
    }
    CHECK(state_names(optimizer->state()) == names);
    CHECK_FALSE(all_zero(optimizer->state().front().second));
    CHECK(all_zero(optimizer->state().back().second));
  }
}

TEST_CASE("a clip scale given to an optimizer equals scaling the gradients beforehand") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    Tensor folded = start();
    Tensor scaled = start();
    const auto first = kind.make({{"x", folded}});
    const auto second = kind.make({{"x", scaled}});
    for (std::uint64_t step = 0; step < 5; ++step) {
      set_gradient(folded, gradient_of_step(step));
      const double scale = clip_scale(gradient_norm({{"x", folded}}), 1.0);
      set_gradient(scaled, gradient_of_step(step) * scale);
      first->step(0.01, scale);
      second->step(0.01);
    }
    check_close(folded, scaled, 1e-15);
  }
}

TEST_CASE("an optimizer with the state and step count of another continues bit for bit") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    Tensor x = start(DType::float32);
    Tensor resumed = leaf(Tensor::zeros({5, 7}));
    const auto optimizer = kind.make({{"x", x}});
    const auto successor = kind.make({{"x", resumed}});
    for (std::uint64_t step = 0; step < 10; ++step) {
      if (step == 5) {
        resumed.copy_from(x.detach());
        copy_tensors(optimizer->state(), successor->state(), "state");
        successor->set_step_count(optimizer->step_count());
      }
      set_gradient(x, gradient_of_step(step, DType::float32));
      optimizer->step(0.01);
      if (step >= 5) {
        set_gradient(resumed, gradient_of_step(step, DType::float32));
        successor->step(0.01);
      }
    }
    CHECK(same_bits(resumed.detach(), x.detach()));
    CHECK(successor->step_count() == 10);
  }
}

TEST_CASE("an update of a large tensor has the same bits for any number of threads") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const auto run = [&](int threads) {
      const ThreadScope scope(threads);
      Tensor x = leaf(noise({70, 1001}, 1, DType::float32));
      const auto optimizer = kind.make({{"x", x}});
      for (std::uint64_t step = 0; step < 3; ++step) {
        set_gradient(x, noise({70, 1001}, 2 + step, DType::float32));
        optimizer->step(0.01, 0.5);
      }
      return x.detach();
    };
    const Tensor one = run(1);
    CHECK_FALSE(same_bits(one, noise({70, 1001}, 1, DType::float32)));
    CHECK(same_bits(run(2), one));
    CHECK(same_bits(run(3), one));
  }
}

TEST_CASE("optimizers refuse options and parameters outside their range by name") {
  check_error([] { AdamW({}, {.beta1 = 1}); }, {"[AdamW]", "beta1", "1 and 0.95"});
  check_error([] { AdamW({}, {.beta2 = -0.5}); }, {"[AdamW]", "beta2", "0.9 and -0.5"});
  check_error([] { AdamW({}, {.beta1 = std::nan("")}); }, {"[AdamW]", "beta1"});
  check_error([] { AdamW({}, {.epsilon = 0}); }, {"[AdamW]", "positive epsilon, got 0"});
  check_error([] { AdamW({}, {.weight_decay = -1}); }, {"[AdamW]", "weight_decay", "got -1"});
  check_error([] { Sgd({}, {.momentum = 1}); }, {"[Sgd]", "momentum", "got 1"});
  check_error([] { Sgd({}, {.momentum = -0.5}); }, {"[Sgd]", "momentum", "got -0.5"});
  check_error([] { Sgd({}, {.nesterov = true}); }, {"[Sgd]", "nesterov needs a momentum"});
  check_error([] { Sgd({}, {.weight_decay = -1}); }, {"[Sgd]", "weight_decay", "got -1"});
  check_error([] { Muon({}, {.momentum = 1}); }, {"[Muon]", "momentum", "got 1"});
  check_error([] { Muon({}, {.weight_decay = -1}); }, {"[Muon]", "weight_decay", "got -1"});
  check_error([] { Muon({}, {.newton_schulz = {.steps = 100}}); }, {"[Muon]", "0 to 99", "100"});
  check_error([] { Muon({{"x", Tensor::ones({3})}}); }, {"[Muon] x", "a matrix"});
  const Tensor matrix = Tensor::ones({4, 3});
  check_error([&] { Muon({{"x", matrix, {2, 1}}}); }, {"[Muon] x", "4 rows, got 3"});
  check_error([&] { Muon({{"x", matrix, {4, 0}}}); }, {"[Muon] x", "blocks"});
  check_error([&] { Muon({{"x", matrix, {5, -1}}}); }, {"[Muon] x", "blocks"});
}

TEST_CASE("optimizers refuse parameters whose elements are not contiguous") {
  const Tensor transposed = transpose(Tensor::ones({2, 3}));
  const Tensor expanded = Tensor::ones({1}).strided_view({5, 5}, {0, 0});
  for (const Kind& kind : kinds()) {
    const std::string elements =
        kind.name == "Muon" ? "a matrix of contiguous elements" : "a tensor of contiguous elements";
    for (const Tensor& wrong : {transposed, expanded, Tensor()}) {
      CHECK(error_of([&] {
              kind.make({{"x", wrong}});
            }) == "[" + kind.name + "] x: expected " + elements);
    }
  }
}
