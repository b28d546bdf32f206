#include "support/test.h"

// Worked examples of the notes on multi-head attention and normalization: recomputes every printed
// number with more digits.

namespace worked_numbers_test {
// float64 must match all digits below, float32 the four digits that the notes print.
double tolerance_of(DType dtype) { return dtype == DType::float64 ? 1e-6 : 5e-5; }

Tensor input(DType dtype) {
  return convert(doubles({1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1}, {3, 4}), dtype);
}

// Query, key and value [3, 3] of the example with a single head.
struct SingleHead {
  explicit SingleHead(DType dtype)
      : query(project(dtype, {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1})),
        key(project(dtype, {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0})),
        value(project(dtype, {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0})) {}

  static Tensor project(DType dtype, std::initializer_list<double> weight) {
    return matmul(input(dtype), convert(doubles(weight, {4, 3}), dtype));
  }

  Tensor query;
  Tensor key;
  Tensor value;
};

// Query, key and value [3, 2, 2] of the example with two heads, and its output projection.
struct TwoHeads {
  explicit TwoHeads(DType dtype)
      : query(project(dtype, {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1})),
        key(project(dtype, {0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1})),
        value(project(dtype, {1, 0, 2, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0, 1, 1, 0})),
        output_weight(convert(
            doubles({1, 0, 0.5, 0, 0, 1, 0, 0.5, 0.5, 0, 1, 0, 0, 0.5, 0, 1}, {4, 4}), dtype)) {}

  static Tensor project(DType dtype, std::initializer_list<double> weight) {
    return reshape(matmul(input(dtype), convert(doubles(weight, {4, 4}), dtype)), {3, 2, 2});
  }

  Tensor scores() const { return einsum("thd,shd->hts", query, key); }
  // Concatenates the heads: [3, 4].
  Tensor concatenated(const Tensor& weights) const {
    return reshape(einsum("hts,shd->thd", weights, value), {3, 4});
  }

  Tensor query;
  Tensor key;
  Tensor value;
  Tensor output_weight;  // [4, 4]
};

std::vector<double> twice(std::vector<double> values) {
  const std::vector<double> once = values;
  values.insert(values.end(), once.begin(), once.end());
  return values;
}

// Rows 2 and 3 of the unmasked example are equal.
const std::vector<double> kWeights{.108383, .445808, .445808, .028705, .485648,
                                   .485648, .028705, .485648, .485648};
const std::vector<double> kConcatenated{1.108383, 2.674850, 2.445808, 3.229041, 1.028705, 2.913886,
                                        2.485648, 3.428239, 1.028705, 2.913886, 2.485648, 3.428239};
const std::vector<double> kOutput{2.331288, 4.289370, 3,        4.566466, 2.271528, 4.628006,
                                  3,        4.885182, 2.271528, 4.628006, 3,        4.885182};
const std::vector<double> kCausalWeights{1, 0, 0, .055807, .944193, 0, .028705, .485648, .485648};
const std::vector<double> kCausalConcatenated{2, 0,        2,        1,        .111614,  3.776771,
                                              2, 3.832578, 1.028705, 2.913886, 2.485648, 3.428239};
const std::vector<double> kCausalOutput{3,        .5,       3,        1,        1.111614, 5.693060,
                                        2.055807, 5.720964, 2.271528, 4.628006, 3,        4.885182};

TEST_CASE("worked example: scaled dot-product attention with a single head") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = tolerance_of(dtype);
    const SingleHead head(dtype);
    check_values(head.query, {1, 0, 2, 2, 2, 2, 2, 1, 3});
    check_values(head.key, {0, 1, 1, 4, 4, 0, 2, 3, 1});
    check_values(head.value, {1, 2, 3, 2, 8, 0, 2, 6, 3});
    const Tensor scores = matmul(head.query, transpose(head.key));
    check_values(scores, {2, 4, 4, 4, 16, 12, 4, 12, 10});
    const std::vector<double> weights{.136126, .431937, .431937, .000890, .908843,
                                      .090267, .007445, .754708, .237848};
    const std::vector<double> output{1.863874, 6.319371, 1.704189, 1.999110, 7.814124,
                                     .273472,  1.992555, 7.479636, .735877};
    const Tensor by_hand = softmax(scores / std::sqrt(3.0));
    check_values(by_hand, weights, tolerance);
    check_values(matmul(by_hand, head.value), output, tolerance);
    const AttentionResult fused = scaled_dot_product_attention(head.query, head.key, head.value);
    check_values(fused.weights, weights, tolerance);
    check_values(fused.output, output, tolerance);
  }
}

TEST_CASE("worked example: multi-head attention with two heads as einsum") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = tolerance_of(dtype);
    const TwoHeads heads(dtype);
    check_values(heads.query, {1, 1, 2, 0, 2, 2, 0, 4, 2, 2, 2, 2});
    check_values(heads.key, {0, 2, 1, 1, 4, 0, 2, 2, 2, 2, 2, 2});
    check_values(heads.value, {2, 0, 2, 1, 0, 4, 2, 4, 2, 2, 3, 3});
    check_values(heads.scores(), twice({2, 4, 4, 4, 8, 8, 4, 8, 8}));
    const Tensor weights = softmax(heads.scores() / std::sqrt(2.0));
    check_values(weights, twice(kWeights), tolerance);
    check_values(heads.concatenated(weights), kConcatenated, tolerance);
    check_values(matmul(heads.concatenated(weights), heads.output_weight), kOutput, tolerance);
  }
}

TEST_CASE("worked example: the einsum of all heads is a product per head") {
  const TwoHeads heads(DType::float64);
  for (Index h = 0; h < 2; ++h) {
    const auto head_of = [h](const Tensor& x) { return reshape(slice(x, 1, h, h + 1), {3, 2}); };
    check_close(matmul(head_of(heads.query), transpose(head_of(heads.key))),
                reshape(slice(heads.scores(), 0, h, h + 1), {3, 3}), 0);
  }
}

TEST_CASE("worked example: masked multi-head attention") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = tolerance_of(dtype);
    const TwoHeads heads(dtype);
    const Tensor mask = convert(triu(Tensor::ones({3, 3}), 1), DType::boolean);
    check_values(mask, causal_mask(3).to_vector());
    const Tensor hidden = masked_fill(heads.scores(), reshape(mask, {1, 3, 3}), -INFINITY);
    const Tensor weights = softmax(hidden / std::sqrt(2.0));
    check_values(weights, twice(kCausalWeights), tolerance);
    CHECK(weights.to_vector()[1] == 0);
    check_close(masked_softmax(heads.scores() / std::sqrt(2.0), mask), weights, 0);
    check_values(heads.concatenated(weights), kCausalConcatenated, tolerance);
    check_values(matmul(heads.concatenated(weights), heads.output_weight), kCausalOutput,
                 tolerance);
  }
}

TEST_CASE("worked example: fused attention gives the numbers of the masked heads") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const TwoHeads heads(dtype);
    const Tensor qkv = concat(
        {reshape(heads.query, {3, 4}), reshape(heads.key, {3, 4}), reshape(heads.value, {3, 4})},
        1);
    std::vector<Tensor> weights;
    const Tensor output =
        ragged_attention(qkv, {.heads = 2, .offsets = {0, 3}, .weights = &weights});
    check_values(weights.at(0), twice(kCausalWeights), tolerance_of(dtype));
    check_values(output, kCausalConcatenated, tolerance_of(dtype));
    check_values(matmul(output, heads.output_weight), kCausalOutput, tolerance_of(dtype));
  }
}

TEST_CASE("worked example: LayerNorm and BatchNorm of the same two rows") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float64 ? 1e-10 : 5e-5;
    const Tensor x = convert(doubles({1, 2, 3, 1, 1, 1}, {2, 3}), dtype);
    const Tensor gain = Tensor::ones({3}, dtype);
    const Tensor shift = Tensor::zeros({3}, dtype);
    check_values(layer_norm(x, gain, shift), {-1.2247356859, 0, 1.2247356859, 0, 0, 0}, tolerance);
    RunningStatistics running{Tensor::zeros({3}, dtype), Tensor::ones({3}, dtype)};
    check_values(batch_norm(x, gain, shift, running),
                 {0, .9999800006, .9999950000, 0, -.9999800006, -.9999950000}, tolerance);
    check_values(mean(x, {.axes = {1}}), {2, 1});
    check_values(sqrt(var(x, {.axes = {1}}, 0)), {std::sqrt(2.0 / 3), 0}, 1e-7);
    check_values(mean(x, {.axes = {0}}), {1, 1.5, 2});
    check_values(sqrt(var(x, {.axes = {0}}, 0)), {0, .5, 1});
  }
}
}  // namespace worked_numbers_test
