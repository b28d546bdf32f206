#include "support/test.h"

namespace attention_masks_test {
constexpr Index kBatch = 3;
constexpr Index kHeads = 2;
constexpr Index kQueries = 4;  // T
constexpr Index kKeys = 5;     // S
constexpr Index kWidth = 6;

struct Setting {
  MultiHeadAttention attention{{.width = kWidth, .heads = kHeads, .dtype = DType::float64}};
  Tensor query = random_uniform({kBatch, kQueries, kWidth}, {7, 1}, -1, 1, DType::float64);
  Tensor key = random_uniform({kBatch, kKeys, kWidth}, {7, 2}, -1, 1, DType::float64);
  Tensor value = random_uniform({kBatch, kKeys, kWidth}, {7, 3}, -1, 1, DType::float64);

  Setting() { randomize(attention, 21); }
};

// Makes c_proj the identity, so that the output is the concatenated heads.
void make_projection_identity(const MultiHeadAttention& attention) {
  Tensor weight = parameter_of(attention, "c_proj.weight");
  weight.fill(0);
  for (Index i = 0; i < weight.size(0); ++i) {
    weight.data<double>()[i * weight.size(1) + i] = 1;
  }
  parameter_of(attention, "c_proj.bias").fill(0);
}

Tensor row_of(const Tensor& x, Index b, Index t) {
  return x.strided_view({x.size(2)}, {1}, (b * x.size(1) + t) * x.size(2));
}

TEST_CASE("a query without visible keys gets zeros and sends no gradient and no NaN") {
  const Setting setting;
  const std::vector<Tensor> inputs{leaf(setting.query), leaf(setting.key), leaf(setting.value)};
  make_projection_identity(setting.attention);
  Tensor mask = Tensor::zeros({kQueries, kKeys}, DType::boolean);
  select(mask, 0, 2).fill(1);
  const AttentionResult result =
      setting.attention.forward(inputs[0], inputs[1], inputs[2], {.mask = mask});
  backward(sum(result.output));
  for (Index b = 0; b < kBatch; ++b) {
    for (const Tensor& x : {result.output, inputs[0].grad()}) {
      CHECK(all_zero(row_of(x, b, 2)));
      CHECK_FALSE(all_zero(row_of(x, b, 1)));
    }
  }
  CHECK(all_zero(select(result.weights, 2, 2)));
  for (const Tensor& x : inputs) {
    CHECK(all_finite(x.grad()));
  }
  for (const Tensor& gradient : gradients_of(setting.attention)) {
    CHECK(all_finite(gradient));
  }
}

TEST_CASE("if all keys are hidden every gradient except that of the output bias is zero") {
  Setting setting;
  setting.query.set_requires_grad();
  setting.key.set_requires_grad();
  setting.value.set_requires_grad();
  const AttentionResult result =
      setting.attention.forward(setting.query, setting.key, setting.value,
                                {.key_padding = Tensor::ones({kBatch, kKeys}, DType::boolean)});
  CHECK(all_zero(result.weights));
  backward(sum(result.output));
  for (const auto& [name, parameter] : setting.attention.parameters()) {
    INFO(name);
    const bool output_bias = name == "c_proj.bias";
    CHECK(all_zero(parameter.grad()) != output_bias);
  }
  CHECK(parameter_of(setting.attention, "c_proj.bias").grad().to_vector() ==
        std::vector<double>(kWidth, kBatch * kQueries));
  for (const Tensor& x : {setting.query, setting.key, setting.value}) {
    CHECK(all_zero(x.grad()));
  }
}

TEST_CASE("hidden keys and values receive no gradient whatever their values") {
  Setting setting;
  setting.key.set_requires_grad();
  setting.value.set_requires_grad();
  const Tensor padding = padding_mask({5, 2, 3}, kKeys);
  const auto run = [&] {
    setting.attention.zero_grad();
    setting.key.zero_grad();
    setting.value.zero_grad();
    const AttentionResult result = setting.attention.forward(
        setting.query, setting.key, setting.value, {.key_padding = padding});
    backward(sum(result.output));
    return result.output.detach();
  };
  const Tensor before = run();
  for (Index s = 2; s < kKeys; ++s) {
    CHECK(all_zero(row_of(setting.key.grad(), 1, s)));
    CHECK(all_zero(row_of(setting.value.grad(), 1, s)));
  }
  CHECK_FALSE(all_zero(row_of(setting.value.grad(), 1, 1)));
  const std::vector<Tensor> gradients = gradients_of(setting.attention);
  for (Index s = 2; s < kKeys; ++s) {
    row_of(setting.key, 1, s).fill(1000);
    row_of(setting.value, 1, s).fill(-1000);
  }
  CHECK(same_bits(run(), before));
  CHECK(same_bits(gradients_of(setting.attention), gradients));
}
}  // namespace attention_masks_test
