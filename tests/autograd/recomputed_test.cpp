#include "support/test.h"

struct Leaves {
  Tensor x = leaf(noise({3, 4}, 1));
  Tensor weight = leaf(noise({4, 4}, 2));
};

Tensor layer(const Tensor& x, const Tensor& weight) { return x + tanh(matmul(x, weight)); }

TEST_CASE("a recomputed layer has the same bits and gradients") {
  const Leaves plain;
  backward(sum(layer(layer(plain.x, plain.weight), plain.weight)));
  const Leaves again;
  int calls = 0;
  const auto compute = [&](const Tensor& x) {
    ++calls;
    return layer(x, again.weight);
  };
  std::vector<const GradNode*> seen;
  backward(sum(recomputed(recomputed(again.x, compute), compute)),
           {.on_leaf = [&](const GradNode& node) { seen.push_back(&node); }});
  CHECK(calls == 4);
  CHECK(same_bits(plain.x.grad(), again.x.grad()));
  CHECK(same_bits(plain.weight.grad(), again.weight.grad()));
  CHECK(std::count(seen.begin(), seen.end(), again.weight.grad_node().get()) == 2);
  CHECK(live_graph_nodes() == 0);
}

TEST_CASE("a recomputed layer keeps only its input") {
  const Leaves leaves;
  const Index before = live_graph_nodes();
  const Tensor y = recomputed(leaves.x, [&](const Tensor& x) { return layer(x, leaves.weight); });
  CHECK(live_graph_nodes() == before + 1);
}

TEST_CASE("a layer whose input has no gradient is recorded as it is") {
  const Leaves leaves;
  int calls = 0;
  backward(sum(recomputed(leaves.x.detach(), [&](const Tensor& x) {
    ++calls;
    return layer(x, leaves.weight);
  })));
  CHECK(calls == 1);
  CHECK(leaves.weight.grad().defined());
}

TEST_CASE("a frozen leaf gets no gradient until it is thawed") {
  Leaves leaves;
  const Tensor other_handle = leaves.weight;
  leaves.weight.set_requires_grad(false);
  CHECK_FALSE(other_handle.requires_grad());
  backward(sum(layer(leaves.x, other_handle)));
  CHECK(leaves.x.grad().defined());
  CHECK_FALSE(other_handle.grad().defined());
  leaves.weight.set_requires_grad(true);
  backward(sum(layer(leaves.x, other_handle)));
  CHECK(other_handle.grad().defined());
}
