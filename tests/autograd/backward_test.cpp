#include <pthread.h>

#include "support/test.h"

// Runs `body` on a stack of 512 KB, which recursion over a long chain would overflow.
void on_small_stack(void (*body)()) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, std::size_t{512} * 1024) == 0);
  const auto run = [](void* function) -> void* {
    (*static_cast<void (**)()>(function))();
    return nullptr;
  };
  pthread_t thread{};
  REQUIRE(pthread_create(&thread, &attributes, run, &body) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&attributes);
}

TEST_CASE("backward gives every leaf its derivative") {
  const Tensor a = leaf(doubles({2, 3}, {2}));
  const Tensor b = leaf(doubles({5, 7}, {2}));
  backward(sum(a * b + a));
  check_values(a.grad(), {6, 8});
  check_values(b.grad(), {2, 3});
}

TEST_CASE("a tensor used several times collects the sum of its gradients") {
  const Tensor x = leaf(doubles({3}, {1}));
  backward(x * x * x + 2.0 * x);
  check_values(x.grad(), {29});  // 3 x^2 + 2
}

TEST_CASE("a leaf sums gradients over backward passes until they are reset") {
  Tensor x = leaf(doubles({1, 2}, {2}));
  backward(sum(x * 3.0));
  backward(sum(x * 4.0));
  check_values(x.grad(), {7, 7});
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
  backward(sum(x * 5.0));
  check_values(x.grad(), {5, 5});
}

TEST_CASE("gradients of several leaves never share elements") {
  Tensor a = leaf(doubles({1, 1}, {2}));
  Tensor b = leaf(doubles({2, 2}, {2}));
  Tensor gradient = doubles({1, 10}, {2});
  backward(a + b, {.gradient = gradient});
  REQUIRE(a.grad().data<double>() != b.grad().data<double>());
  CHECK(a.grad().data<double>() != gradient.data<double>());
  CHECK(b.grad().data<double>() != gradient.data<double>());
  a.grad().fill(99);
  check_values(b.grad(), {1, 10});
  check_values(gradient, {1, 10});
}

TEST_CASE("several leaves that receive views of one gradient do not share elements") {
  const std::vector<Tensor> parts{leaf(doubles({1}, {1})), leaf(doubles({2, 3}, {2}))};
  backward(concat(parts, 0) * doubles({5, 6, 7}, {3}), {.gradient = doubles({1, 1, 1}, {3})});
  parts[0].grad().fill(-1);
  check_values(parts[1].grad(), {6, 7});
  CHECK(parts[1].grad().is_contiguous());
}

TEST_CASE("accumulating into a leaf does not change a gradient that was returned earlier") {
  const Tensor x = leaf(doubles({1}, {1}));
  backward(x * 2.0);
  const Tensor first = x.grad();
  backward(x * 3.0);
  check_values(x.grad(), {5});
  check_values(first, {2});
}

TEST_CASE("a root with several elements needs a gradient of its shape and type") {
  const Tensor x = leaf(doubles({1, 2}, {2}));
  const Tensor y = x * x;
  check_error([&] { backward(y); }, {"[backward]", "one element", "[2]"});
  check_error([&] { backward(y, {.gradient = doubles({1}, {1})}); }, {"[backward]", "[2]", "[1]"});
  const Tensor single = floats({1, 1}, {2});
  check_error([&] { backward(y, {.gradient = single}); }, {"[backward]", "float64", "float32"});
  backward(y, {.gradient = doubles({10, 100}, {2})});
  check_values(x.grad(), {20, 400});
}

TEST_CASE("a leaf may itself be the root") {
  const Tensor x = leaf(doubles({3}, {1}));
  backward(x);
  backward(x);
  check_values(x.grad(), {2});
}

TEST_CASE("backward from a tensor without history is an error") {
  check_error([] { backward(Tensor::ones({1})); }, {"[backward]", "gradient"});
  const Tensor x = leaf(Tensor::ones({1}));
  check_error([&] { backward(x.detach()); }, {"[backward]"});
}

TEST_CASE("a second backward pass over a freed graph is an error") {
  const Tensor x = leaf(doubles({3}, {1}));
  const Tensor y = x * x;
  backward(y);
  check_error([&] { backward(y); }, {"[backward]", "freed", "retain_graph"});
  check_error([&] { backward(y * 2.0); }, {"[backward]", "freed"});
}

TEST_CASE("a retained graph can be walked again") {
  const Tensor x = leaf(doubles({3}, {1}));
  const Tensor y = x * x;
  backward(y, {.gradient = {}, .retain_graph = true});
  backward(y, {.gradient = {}, .retain_graph = true});
  check_values(x.grad(), {12});
  backward(y);
  check_values(x.grad(), {18});
}

TEST_CASE("retain_grad keeps the gradient of an intermediate tensor") {
  const Tensor x = leaf(doubles({3}, {1}));
  Tensor y = x * x;
  const Tensor other = x * 1.0;
  y.retain_grad();
  backward(y * 5.0 + other);
  check_values(y.grad(), {5});
  CHECK_FALSE(other.grad().defined());
  check_values(x.grad(), {31});
  check_error([] { Tensor::ones({1}).retain_grad(); }, {"[retain_grad]"});
}

TEST_CASE("a detached tensor shares the elements but not the history") {
  const Tensor x = leaf(doubles({3}, {1}));
  const Tensor y = x * x;
  CHECK_FALSE(y.detach().requires_grad());
  CHECK(y.detach().data<double>() == y.data<double>());
  backward(y.detach() * x);
  check_values(x.grad(), {9});  // the factor 9 counts as a constant
}

TEST_CASE("nothing is recorded while NoGrad lives, nested or not") {
  const Tensor x = leaf(doubles({3}, {1}));
  CHECK(wants_gradient({x}));
  {
    const NoGrad outer;
    CHECK_FALSE(wants_gradient({x}));
    {
      const NoGrad inner;
      CHECK_FALSE((x * x).requires_grad());
    }
    CHECK_FALSE(wants_gradient({x}));
    CHECK_FALSE((x * x).requires_grad());
    CHECK_FALSE(reshape(x, {1, 1}).requires_grad());
  }
  CHECK(wants_gradient({x}));
  CHECK((x * x).requires_grad());
}

TEST_CASE("constants collect no gradient and ops on them alone are not recorded") {
  const Tensor x = leaf(doubles({3}, {1}));
  const Tensor constant = doubles({4}, {1});
  CHECK_FALSE((constant * constant).requires_grad());
  backward(x * constant);
  CHECK_FALSE(constant.grad().defined());
  check_values(x.grad(), {4});
}

TEST_CASE("only floating-point tensors can require gradients and this can be switched off again") {
  Tensor ids = ints({1}, {1});
  check_error([&] { ids.set_requires_grad(); }, {"[set_requires_grad]", "int32"});
  Tensor x = leaf(Tensor::ones({1}));
  CHECK(x.requires_grad());
  x.set_requires_grad(false);
  CHECK_FALSE(x.requires_grad());
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("copies of a leaf share its gradient") {
  const Tensor x = leaf(doubles({3}, {1}));
  const std::vector<Tensor> copies{x, x};
  backward(copies[0] * copies[1]);
  check_values(x.grad(), {6});
}

TEST_CASE("a gradient of the wrong shape or type is an error that names the op") {
  const auto broken = [](const Tensor& x, const Tensor& gradient) {
    return record("broken_op", x.detach().clone(), {x},
                  [gradient](auto, const Tensor&) { return std::vector<Tensor>{gradient}; });
  };
  const Tensor x = leaf(doubles({1, 2}, {2}));
  const BackwardOptions ones{.gradient = Tensor::ones({2}, DType::float64)};
  check_error([&] { backward(broken(x, doubles({1}, {1})), ones); },
              {"[backward]", "broken_op", "[1]", "[2]"});
  const Tensor single = broken(x, floats({1, 1}, {2}));
  check_error([&] { backward(single, ones); }, {"[backward]", "broken_op", "float32", "float64"});
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a wrong number of gradients is an error that names the op") {
  const Tensor x = leaf(doubles({1}, {1}));
  const Tensor y = record("broken_op", x.detach().clone(), {x, x},
                          [](auto, const Tensor& grad) { return std::vector<Tensor>{grad}; });
  check_error([&] { backward(y); }, {"broken_op", "1 gradients for 2 inputs"});
}

TEST_CASE("an undefined gradient means that the input has none") {
  const Tensor x = leaf(doubles({1}, {1}));
  const Tensor y = record("constant", x.detach().clone(), {x},
                          [](auto, const Tensor&) { return std::vector<Tensor>(1); });
  backward(y + x);
  check_values(x.grad(), {1});
}

TEST_CASE("NaN flows back and is not hidden") {
  const Tensor x = leaf(doubles({-1, 4}, {2}));
  backward(sum(sqrt(x)));
  check_values(x.grad(), {std::numeric_limits<double>::quiet_NaN(), 0.25});
}

TEST_CASE("a graph frees its nodes as soon as nothing needs them") {
  REQUIRE(live_graph_nodes() == 0);
  const Tensor x = leaf(doubles({1, 2}, {2}));
  CHECK(live_graph_nodes() == 0);  // leaves are not counted
  {
    const Tensor y = sum(x * x);
    CHECK(live_graph_nodes() == 2);
    const Tensor unused = exp(x);
    CHECK(live_graph_nodes() == 3);
  }
  CHECK(live_graph_nodes() == 0);
  const Tensor loss = sum(x * x);
  backward(loss);
  CHECK(live_graph_nodes() == 1);  // the root itself, which we hold
}

TEST_CASE("backward frees the tensors that an op saved for it") {
  std::optional<Tensor> x(leaf(noise({1000, 1000}, 1)));
  const std::size_t before = storage_statistics().live_bytes;
  const Tensor loss = sum(tanh(tanh(tanh(*x))));
  CHECK(storage_statistics().live_bytes > before + 20'000'000);
  backward(loss);
  // Only the gradient of x and the loss still occupy memory.
  CHECK(storage_statistics().live_bytes < before + 10'000'000);
}

TEST_CASE("the graph keeps no elements that no gradient reads") {
  const Tensor x = leaf(noise({1000, 1000}, 1));
  const std::size_t before = storage_statistics().live_bytes;
  const Tensor loss = sum(dropout(reshape(transpose(-(x + x), 0, 1), {4, 250'000}), 0.5, {}));
  CHECK(storage_statistics().live_bytes < before + 1'000'000);
  backward(loss);
  CHECK_THROWS_WITH(
      backward(record_shapes("probe", sum(x), {x},
                             [](auto in, const Tensor&) { return std::vector<Tensor>{-in[0]}; })),
      contains_text("were released"));
}

TEST_CASE("backward frees saved tensors op by op and not only at its end") {
  const Tensor x = leaf(noise({1000, 1000}, 1));
  const std::size_t before = storage_statistics().live_bytes;
  std::size_t during = 0;
  // Backward computes the gradient of the first op last.
  const Tensor first = record("probe", x.detach().clone(), {x}, [&](auto, const Tensor& grad) {
    during = storage_statistics().live_bytes;
    return std::vector<Tensor>{grad};
  });
  const Tensor loss = sum(tanh(tanh(tanh(tanh(first)))));
  CHECK(storage_statistics().live_bytes > before + 40'000'000);  // five values of 8 MB each
  backward(loss);
  CHECK(during < before + 20'000'000);  // the first value and its gradient
}

TEST_CASE("a chain of 100,000 ops runs forward and backward on a small stack") {
  on_small_stack([] {
    const Tensor x = leaf(doubles({1}, {1}));
    Tensor y = x;
    for (int i = 0; i < 100000; ++i) {
      y = y + x;
    }
    CHECK(live_graph_nodes() == 100000);
    backward(y);
    check_values(x.grad(), {100001});
  });
  CHECK(live_graph_nodes() == 0);
}

TEST_CASE("a chain of 100,000 ops is destroyed on a small stack without a backward pass") {
  on_small_stack([] {
    Tensor y = leaf(doubles({1}, {1}));
    for (int i = 0; i < 100000; ++i) {
      y = y * 1.0;
    }
    CHECK(live_graph_nodes() == 100000);
  });
  CHECK(live_graph_nodes() == 0);
}

TEST_CASE("a graph in which every tensor is used twice is walked once per node") {
  // 2^200 paths lead to x, but there are 200 nodes.
  const Tensor x = leaf(doubles({1}, {1}));
  Tensor y = x;
  for (int i = 0; i < 200; ++i) {
    y = y + y;
  }
  backward(y * 0x1p-200);
  check_values(x.grad(), {1});
}
