#include "support/test.h"

TEST_CASE("backward refuses a gradient whose input was overwritten since the forward pass") {
  Tensor x = leaf(doubles({1, 2}, {2}));
  const Tensor y = sum(x * x);
  x.fill(7);
  check_error([&] { backward(y); }, {"[backward] mul", "its input 1", "got version 1"});
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("every way to overwrite elements is detected also through views and other handles") {
  const Tensor source = doubles({5, 6}, {2});
  const auto refused_after = [&](const auto& write) {
    Tensor x = leaf(doubles({1, 2}, {2}));
    const Tensor y = sum(x * x);
    write(x);
    return mentions(error_of([&] { backward(y); }), {"[backward] mul", "expected version 0, got"});
  };
  CHECK(refused_after([](Tensor& x) { x.fill(3); }));
  CHECK(refused_after([&](Tensor& x) { x.copy_from(source); }));
  CHECK(refused_after([](Tensor& x) { x.mutable_data<double>()[0] = 3; }));
  CHECK(refused_after([](Tensor& x) { slice(x, 0, 1, 2).fill(3); }));
  CHECK(refused_after([](Tensor& x) { x.detach().fill(3); }));
  CHECK(refused_after([](Tensor& x) { reshape(x.detach(), {2, 1}).fill(3); }));
  CHECK_FALSE(refused_after([](Tensor& x) { x.clone().fill(3); }));
  CHECK_FALSE(refused_after([](Tensor& x) { x.data<double>(); }));
  CHECK_FALSE(refused_after([](Tensor& x) { x = Tensor::ones({2}, DType::float64); }));
}

TEST_CASE("elements may be overwritten before the op and after backward") {
  Tensor x = leaf(doubles({1, 2}, {2}));
  x.fill(3);
  const Tensor y = sum(x * x);
  backward(y);
  check_values(x.grad(), {6, 6});
  x.fill(4);
  backward(sum(x * x));
  check_values(x.grad(), {14, 14});
}

TEST_CASE("backward over a retained graph is refused once its inputs have changed") {
  Tensor x = leaf(doubles({1, 2}, {2}));
  const Tensor y = sum(x * x);
  backward(y, {.retain_graph = true});
  backward(y, {.retain_graph = true});
  check_values(x.grad(), {4, 8});
  x.fill(3);
  check_error([&] { backward(y); }, {"[backward] mul needs its input"});
}

TEST_CASE("a saved tensor has a shape and type even after it was overwritten") {
  Tensor x = leaf(doubles({1, 2}, {2}));
  const SavedTensor saved("probe", "mask", x);
  CHECK(same_bits(saved.get(), x));
  x.fill(0);
  CHECK(saved.shape() == Shape{2});
  CHECK(saved.dtype() == DType::float64);
  CHECK(saved.requires_grad());
  check_error([&] { saved.get(); }, {"[backward] probe needs its mask, float64"});
  const SavedTensor none("probe", "mask", Tensor());
  CHECK_FALSE(none.defined());
  CHECK_FALSE(none.get().defined());
}
