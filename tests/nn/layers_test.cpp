#include "support/test.h"

// Returns the divisor of a batch norm for this variance.
double deviation(double variance) { return std::sqrt(variance + 1e-5); }

TEST_CASE("a linear layer starts uniform within 1/sqrt(inputs)") {
  const Linear linear({.inputs = 25, .outputs = 400}, {6, 6});
  for (const Tensor& parameter : {linear.weight, linear.bias}) {
    const std::vector<double> values = parameter.to_vector();
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    CHECK(*low >= -0.2);
    CHECK(*low < -0.19);
    CHECK(*high <= 0.2);
    CHECK(*high > 0.19);
  }
  CHECK(linear.weight.to_vector()[0] != linear.bias.to_vector()[0]);
}

TEST_CASE("an embedding starts with standard normal rows") {
  const Embedding embedding({.count = 200, .width = 50}, {2, 2});
  const double count = 200 * 50;
  CHECK(norm(embedding.weight) / std::sqrt(count) == Approx(1).margin(0.03));
  CHECK(sum(embedding.weight).item() / count == Approx(0).margin(0.05));
}

TEST_CASE("the padding row of an embedding starts as zeros and learns nothing") {
  Embedding embedding({.count = 4, .width = 3, .padding_index = 1, .dtype = kDouble}, {2, 2});
  const Tensor rows = embedding.forward(ints({1, 0, 1, 2, 0}, {5}));
  check_values(rows.strided_view({3}, {1}), {0, 0, 0});
  CHECK(norm(rows.strided_view({3}, {1}, 3)) > 0.1);
  backward(sum(rows));
  check_values(embedding.weight.grad(), {2, 2, 2, 0, 0, 0, 1, 1, 1, 0, 0, 0});
}

TEST_CASE("an embedding without padding index starts with the same rows and trains them all") {
  const Embedding with({.count = 4, .width = 3, .padding_index = 1, .dtype = kDouble}, {2, 2});
  const Embedding without({.count = 4, .width = 3, .dtype = kDouble}, {2, 2});
  CHECK(same_bits(with.weight.strided_view({2, 3}, {3, 1}, 6),
                  without.weight.strided_view({2, 3}, {3, 1}, 6)));
  backward(sum(without.forward(ints({1}, {1}))));
  check_values(without.weight.grad(), {0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("the running statistics that batch norm saves are the ones it uses") {
  BatchNorm1d layer({.width = 1, .dtype = kDouble});
  NamedTensors buffers = layer.buffers();
  REQUIRE(buffers.size() == 2);
  buffers[0].second.fill(3);
  buffers[1].second.fill(4);
  check_values(layer.forward(doubles({7}, {1, 1}), {}), {4 / deviation(4)}, 1e-14);
  layer.forward(doubles({0, 2}, {2, 1}), {.training = true});
  check_values(buffers[0].second, {0.9 * 3 + 0.1 * 1}, 1e-14);
  check_values(buffers[1].second, {0.9 * 4 + 0.1 * 2}, 1e-14);
}

TEST_CASE("dropout does nothing in evaluation and with probability 0") {
  const Tensor x = Tensor::ones({1000});
  CHECK(same_bits(Dropout(0.5).forward(x, {.random = {1, 1}}), x));
  CHECK(same_bits(Dropout(0).forward(x, {.training = true, .random = {1, 1}}), x));
}

TEST_CASE("dropout is the same for the same stream and differs between streams and labels") {
  const Tensor x = Tensor::ones({1000});
  const ForwardContext context{.training = true, .random = {1, 1}};
  const Tensor first = Dropout(0.5, 1).forward(x, context);
  CHECK(same_bits(Dropout(0.5, 1).forward(x, context), first));
  CHECK_FALSE(same_bits(Dropout(0.5, 2).forward(x, context), first));
  const ForwardContext other{.training = true, .random = {1, 2}};
  CHECK_FALSE(same_bits(Dropout(0.5, 1).forward(x, other), first));
}

TEST_CASE("a layer norm of the RMS kind has no bias, and gains of 1 + w start from 0") {
  const LayerNorm layer(
      {.width = 2, .epsilon = 0.5, .dtype = kDouble, .kind = NormKind::rms, .gain_plus_one = true});
  CHECK(layer.parameters().size() == 1);
  const Tensor x = doubles({1, 0, 0, 1}, {2, 2});
  check_values(layer.forward(x), {1, 0, 0, 1}, 1e-15);
  set_parameter(layer, "weight", {1, 2});
  check_values(layer.forward(x), {2, 0, 0, 3}, 1e-15);
  check_values(norm_linear(x, layer.norm(), doubles({1, 1}, {1, 2})), {2, 3}, 1e-15);
}
