#include "nn/reference_model.h"
#include "support/test.h"

namespace layers_test {
constexpr DType kDouble = DType::float64;

// Rows 1, 2, 3 and 1, 1, 1: the second has no variance.
Tensor two_rows(DType dtype = kDouble) {
  return convert(doubles({1, 2, 3, 1, 1, 1}, {2, 3}), dtype);
}

// Returns the divisor of a batch norm for this variance.
double deviation(double variance) { return std::sqrt(variance + 1e-5); }

TEST_CASE("a linear layer multiplies by the transposed weight and adds the bias") {
  const Linear linear({.inputs = 2, .outputs = 3, .dtype = kDouble});
  set_parameter(linear, "weight", {1, 2, 3, 4, 5, 6});
  set_parameter(linear, "bias", {10, 20, 30});
  check_values(linear.forward(doubles({1, -1, 2, 0}, {2, 2})), {9, 19, 29, 12, 26, 40});
  CHECK(linear.forward(Tensor::ones({4, 5, 2}, kDouble)).shape() == Shape{4, 5, 3});
}

TEST_CASE("a linear layer without bias adds nothing") {
  const Linear linear({.inputs = 2, .outputs = 1, .bias = false, .dtype = kDouble});
  set_parameter(linear, "weight", {1, 2});
  CHECK_FALSE(linear.bias.defined());
  CHECK(linear.parameter_count() == 2);
  check_values(linear.forward(doubles({0, 0, 3, 4}, {2, 2})), {0, 11});
}

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

TEST_CASE("linear layers and embeddings refuse sizes that are not positive") {
  CHECK_THROWS_WITH(Linear({.inputs = 0, .outputs = 3}),
                    "[Linear] expected positive sizes, got 0 inputs and 3 outputs");
  CHECK_THROWS_WITH(Linear({.inputs = 2, .outputs = -1}),
                    "[Linear] expected positive sizes, got 2 inputs and -1 outputs");
  CHECK_THROWS_WITH(Embedding({.count = 0, .width = 4}),
                    "[Embedding] expected positive sizes, got 0 rows of width 4");
}

TEST_CASE("an embedding looks up the rows of its ids") {
  const Embedding embedding({.count = 3, .width = 2, .dtype = kDouble});
  set_parameter(embedding, "weight", {1, 2, 3, 4, 5, 6});
  const Tensor rows = embedding.forward(ints({2, 0, 2, 1}, {2, 2}));
  CHECK(rows.shape() == Shape{2, 2, 2});
  check_values(rows, {5, 6, 1, 2, 5, 6, 3, 4});
  CHECK_THROWS_WITH(embedding.forward(ints({0, 3}, {2})),
                    "[embedding] expected ids from 0 to 2, got 3 at position 1");
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

TEST_CASE("an embedding refuses a padding index outside its rows") {
  for (const Index index : {-1, 4}) {
    CHECK_THROWS_WITH(
        Embedding({.count = 4, .width = 3, .padding_index = index}),
        "[Embedding] expected a padding index from 0 to 3, got " + std::to_string(index));
  }
}

TEST_CASE("layer norm normalises each row with its population variance") {
  const LayerNorm layer({.width = 3, .dtype = kDouble});
  const double edge = 1 / deviation(2.0 / 3);
  CHECK(edge == Approx(1.2247356859).epsilon(1e-10));
  check_values(layer.forward(two_rows()), {-edge, 0, edge, 0, 0, 0}, 1e-14);
}

TEST_CASE("layer norm in float32 gives the values of the notes") {
  const LayerNorm layer({.width = 3});
  check_values(layer.forward(two_rows(DType::float32)), {-1.2247, 0, 1.2247, 0, 0, 0}, 5e-5);
}

TEST_CASE("layer norm scales by its gain and adds its bias, which may be left out") {
  const LayerNorm layer({.width = 3, .epsilon = 0.5, .dtype = kDouble});
  set_parameter(layer, "weight", {2, 3, 4});
  set_parameter(layer, "bias", {10, 20, 30});
  const double edge = 1 / std::sqrt(2.0 / 3 + 0.5);
  check_values(layer.forward(two_rows()), {10 - 2 * edge, 20, 30 + 4 * edge, 10, 20, 30}, 1e-13);
  const LayerNorm plain({.width = 3, .bias = false, .dtype = kDouble});
  CHECK_FALSE(plain.bias.defined());
  CHECK(plain.parameter_count() == 3);
  check_values(plain.forward(doubles({4, 4, 4}, {1, 3})), {0, 0, 0});
}

TEST_CASE("layer norm of a constant row has a finite gradient") {
  LayerNorm layer({.width = 3, .dtype = kDouble});
  const Tensor x = leaf(two_rows());
  backward(sum(layer.forward(x) * doubles({1, 2, 4, 1, 2, 4}, {2, 3})));
  CHECK(all_finite(x.grad()));
  // The gradient of a constant row is (g - mean g) / sqrt(epsilon).
  const double scale = 1 / std::sqrt(1e-5);
  check_values(x.grad().strided_view({3}, {1}, 3),
               {(1 - 7.0 / 3) * scale, (2 - 7.0 / 3) * scale, (4 - 7.0 / 3) * scale}, 1e-9);
}

TEST_CASE("batch norm normalises each channel over the batch while training") {
  BatchNorm1d layer({.width = 3, .dtype = kDouble});
  const Tensor y = layer.forward(two_rows(), {.training = true});
  const double second = 0.5 / deviation(0.25);
  const double third = 1 / deviation(1);
  CHECK(second == Approx(.9999800006).epsilon(1e-10));
  CHECK(third == Approx(.9999950000).epsilon(1e-10));
  check_values(y, {0, second, third, 0, -second, -third}, 1e-14);
}

TEST_CASE("batch norm keeps running statistics with the unbiased variance") {
  BatchNorm1d layer({.width = 3, .dtype = kDouble});
  check_values(layer.running.mean, {0, 0, 0});
  check_values(layer.running.variance, {1, 1, 1});
  layer.forward(two_rows(), {.training = true});
  // Means 1, 1.5, 2; unbiased variances 0, 0.5, 2; momentum 0.1.
  check_values(layer.running.mean, {0.1, 0.15, 0.2}, 1e-15);
  check_values(layer.running.variance, {0.9, 0.95, 1.1}, 1e-15);
  layer.forward(two_rows(), {.training = true});
  check_values(layer.running.mean, {0.19, 0.285, 0.38}, 1e-15);
  check_values(layer.running.variance, {0.81, 0.905, 1.19}, 1e-15);
}

TEST_CASE("the momentum of batch norm is the weight of the newest batch") {
  BatchNorm1d layer({.width = 3, .dtype = kDouble}, 1.0);
  layer.forward(two_rows(), {.training = true});
  check_values(layer.running.mean, {1, 1.5, 2}, 1e-15);
  check_values(layer.running.variance, {0, 0.5, 2}, 1e-15);
}

TEST_CASE("batch norm in evaluation uses the running statistics without changing them") {
  BatchNorm1d layer({.width = 3, .dtype = kDouble});
  layer.forward(two_rows(), {.training = true});
  const Tensor y = layer.forward(doubles({1, 1, 1}, {1, 3}), {});
  check_values(y, {0.9 / deviation(0.9), 0.85 / deviation(0.95), 0.8 / deviation(1.1)}, 1e-14);
  check_values(layer.running.mean, {0.1, 0.15, 0.2}, 1e-15);
  check_values(layer.running.variance, {0.9, 0.95, 1.1}, 1e-15);
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

TEST_CASE("batch norm of (N, C, L) takes a channel's statistics over batch and length") {
  BatchNorm1d layer({.width = 2, .dtype = kDouble});
  set_parameter(layer, "weight", {1, 2});
  set_parameter(layer, "bias", {0, 5});
  // Channel 0 holds 1 2 5 8, channel 1 holds 3 3 3 7: means 4 and 4, variances 7.5 and 3.
  const Tensor x = doubles({1, 2, 3, 3, 5, 8, 3, 7}, {2, 2, 2});
  const double a = 1 / deviation(7.5);
  const double b = 2 / deviation(3);
  check_values(layer.forward(x, {.training = true}),
               {-3 * a, -2 * a, 5 - b, 5 - b, a, 4 * a, 5 - b, 5 + 3 * b}, 1e-13);
  check_values(layer.running.variance, {0.9 + 0.1 * 10, 0.9 + 0.1 * 4}, 1e-14);
}

TEST_CASE("batch norm refuses to train on a single value per channel") {
  BatchNorm1d layer({.width = 3});
  CHECK_THROWS_WITH(layer.forward(Tensor::ones({1, 3}), {.training = true}),
                    "[batch_norm] training needs more than one value a channel, got input [1, 3]");
  CHECK_NOTHROW(layer.forward(Tensor::ones({1, 3}), {}));
  CHECK_THROWS_AS(layer.forward(Tensor::ones({4, 2}), {.training = true}), Error);
}

TEST_CASE("dropout zeroes its share of elements and scales up the rest") {
  const Dropout dropout(0.3);
  const std::vector<double> values =
      dropout.forward(Tensor::ones({100000}, kDouble), {.training = true, .random = {1, 1}})
          .to_vector();
  Index dropped = 0;
  double furthest = 0;
  for (const double value : values) {
    dropped += value == 0 ? 1 : 0;
    furthest = std::max(furthest, value == 0 ? 0 : std::abs(value - 1 / 0.7));
  }
  CHECK(furthest < 1e-7);
  CHECK(std::abs(static_cast<double>(dropped) / 100000 - 0.3) < 0.006);  // four standard errors
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

TEST_CASE("dropout sends gradients exactly where it let values through") {
  const Tensor x = leaf(Tensor::ones({1000}, kDouble));
  const Tensor y = Dropout(0.5).forward(x, {.training = true, .random = {1, 1}});
  backward(sum(y));
  CHECK(same_bits(x.grad(), y.detach()));
}

TEST_CASE("dropout refuses a probability outside 0 to below 1") {
  CHECK_THROWS_WITH(Dropout(1), "[Dropout] expected a probability from 0 to below 1, got 1");
  CHECK_THROWS_WITH(Dropout(-0.1), "[Dropout] expected a probability from 0 to below 1, got -0.1");
  CHECK_THROWS_AS(Dropout(std::nan("")), Error);
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

TEST_CASE("activations have the names used in Hugging Face configurations") {
  CHECK(parse_name<Activation>("activation", "gelu_new") == Activation::gelu_tanh);
  CHECK(parse_name<Activation>("activation", "gelu") == Activation::gelu_erf);
  CHECK(parse_name<Activation>("activation", "relu") == Activation::relu);
  for (const char* name : {"gelu_new", "gelu", "relu", "relu2", "silu"}) {
    CHECK(name_of(parse_name<Activation>("activation", name)) == name);
  }
  CHECK_THROWS_WITH(parse_name<Activation>("activation", "swish"),
                    "activation: expected gelu_new, gelu, relu, relu2 or silu, got 'swish'");
  CHECK_THROWS_AS(parse_name<Activation>("activation", ""), Error);
}

TEST_CASE("each activation computes its own formula") {
  const std::vector<double> xs{-3, -1, -0.5, 0, 0.5, 1, 3};
  for (const auto& [name, activation] : kChoices<Activation>) {
    INFO(name);
    std::vector<double> expected;
    for (const double x : xs) {
      expected.push_back(reference_activation(x, activation));
    }
    check_values(activate(Tensor::from(xs, {7}), activation), expected, 1e-14);
  }
  // The two forms of GELU differ in the fourth digit at 1.
  CHECK(activate(doubles({1}, {1}), Activation::gelu_tanh).item() == Approx(0.841192).margin(1e-6));
  CHECK(activate(doubles({1}, {1}), Activation::gelu_erf).item() == Approx(0.841345).margin(1e-6));
}

TEST_CASE("the inner width of an MLP is four times its width by default") {
  const Mlp wide({.width = 3});
  CHECK(parameter_of(wide, "c_fc.weight").shape() == Shape{12, 3});
  CHECK(parameter_of(wide, "c_proj.weight").shape() == Shape{3, 12});
  const Mlp narrow({.width = 3, .inner_width = 2, .bias = false});
  CHECK(parameter_of(narrow, "c_fc.weight").shape() == Shape{2, 3});
  CHECK(narrow.parameter_count() == 12);
}

TEST_CASE("an MLP puts its activation between its two layers") {
  const Mlp mlp({.width = 2, .inner_width = 2, .activation = Activation::relu, .dtype = kDouble});
  set_parameter(mlp, "c_fc.weight", {1, 0, 0, 1});
  set_parameter(mlp, "c_fc.bias", {0, 1});
  set_parameter(mlp, "c_proj.weight", {1, 2, 3, 4});
  set_parameter(mlp, "c_proj.bias", {100, 200});
  // (5, -3) -> (5, -2) -> (5, 0) -> (5, 15) + (100, 200)
  check_values(mlp.forward(doubles({5, -3}, {1, 2})), {105, 215});
}
}  // namespace layers_test
