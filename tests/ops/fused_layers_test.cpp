#include "support/test.h"

namespace fused_layers_test {
constexpr Index kWidth = 7;   // C
constexpr Index kInner = 12;  // I
constexpr double kEpsilon = 1e-3;

// Inputs of either op; the optional ones come last.
struct Inputs {
  Tensor x;          // [..., C]
  Tensor up;         // [I, C]
  Tensor down;       // [C, I], feed_forward only
  Tensor gain;       // [C]
  Tensor shift;      // [C]
  Tensor up_bias;    // [I]
  Tensor down_bias;  // [C]

  std::vector<Tensor> all() const { return {x, up, down, gain, shift, up_bias, down_bias}; }
};

using Function = Tensor (*)(const Inputs&);

Tensor fused_norm_linear(const Inputs& in) {
  return norm_linear(in.x, {in.gain, in.shift, kEpsilon}, in.up, in.up_bias);
}

Tensor plain_norm_linear(const Inputs& in) {
  return linear(layer_norm(in.x, in.gain, in.shift, kEpsilon), in.up, in.up_bias);
}

Tensor fused_feed_forward(const Inputs& in) {
  return feed_forward(in.x, {.norm = {in.gain, in.shift, kEpsilon},
                             .up_weight = in.up,
                             .up_bias = in.up_bias,
                             .down_weight = in.down,
                             .down_bias = in.down_bias});
}

Tensor plain_feed_forward(const Inputs& in) {
  return linear(gelu(plain_norm_linear(in), GeluForm::tanh), in.down, in.down_bias);
}

Inputs inputs_for(Index rows, DType dtype = DType::float64) {
  const auto drawn = [&](const Shape& shape, std::uint64_t stream) {
    return leaf(noise(shape, stream, dtype));
  };
  return {.x = drawn({rows, kWidth}, 1),
          .up = drawn({kInner, kWidth}, 2),
          .down = drawn({kWidth, kInner}, 3),
          .gain = drawn({kWidth}, 4),
          .shift = drawn({kWidth}, 5),
          .up_bias = drawn({kInner}, 6),
          .down_bias = drawn({kWidth}, 7)};
}

// Returns the value, and then the gradients of all inputs; undefined if there is none.
std::vector<Tensor> results_of(Function function, const Inputs& in) {
  for (Tensor input : in.all()) {
    input.zero_grad();
  }
  const Tensor value = function(in);
  backward(value, {.gradient = noise(value.shape(), 9, value.dtype())});
  std::vector<Tensor> results{value.detach()};
  for (const Tensor& input : in.all()) {
    results.push_back(input.grad());
  }
  return results;
}

void check_equal(Function fused, Function plain, const Inputs& in, double tolerance) {
  const std::vector<Tensor> actual = results_of(fused, in);
  const std::vector<Tensor> expected = results_of(plain, in);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("result " << i << " for x " << in.x.shape());
    REQUIRE(actual[i].defined() == expected[i].defined());
    if (expected[i].defined()) {
      check_close(actual[i], expected[i], tolerance);
    }
  }
}

TEST_CASE("the fused layers equal the ops they are made of across their blocks of rows") {
  for (const Index rows : {1, 1023, 1024, 1025, 2100}) {
    const Inputs in = inputs_for(rows);
    check_equal(fused_norm_linear, plain_norm_linear, in, 1e-10);
    check_equal(fused_feed_forward, plain_feed_forward, in, 1e-10);
  }
}

TEST_CASE("the fused layers can be walked backward twice when the graph is retained") {
  for (const Function function : {fused_norm_linear, fused_feed_forward}) {
    const Inputs in = inputs_for(5);
    const std::vector<Tensor> once = results_of(function, in);
    Tensor x = in.x;
    x.zero_grad();
    const Tensor value = function(in);
    const Tensor gradient = noise(value.shape(), 9, value.dtype());
    backward(value, {.gradient = gradient, .retain_graph = true});
    backward(value, {.gradient = gradient});
    check_close(in.x.grad(), 2.0 * once[1], 1e-12);
  }
}
}  // namespace fused_layers_test
