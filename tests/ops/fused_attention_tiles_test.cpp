#include "support/cpu_variants.h"
#include "support/test.h"

// Compares the fused kernels on every instruction set, and OpenBLAS, with plain attention in
// float64. Lengths are around strips (6 or 14 rows), query tiles (56 or 64) and key tiles (256);
// head widths are around the panels.

namespace fused_attention_tiles_test {
const std::vector<Index> kLengths{1, 2, 13, 14, 15, 55, 56, 57, 100, 255, 256, 257, 300, 600};

struct Heads {
  Index count = 1;                  // H
  Index width = 1;                  // D
  std::vector<Index> lengths = {};  // of each sequence
  double dropout = 0;
  double spread = 1;  // standard deviation of queries, keys and values
  bool causal = true;

  std::vector<Index> offsets() const {
    std::vector<Index> result{0};
    for (const Index length : lengths) {
      result.push_back(result.back() + length);
    }
    return result;
  }
};

constexpr RandomStream kDropoutStream{12, 34};

// Returns query (0), key (1) or value (2) of one sequence: [H, T, D].
Tensor heads_of(const Tensor& rows, const Heads& heads, Index part) {
  const Index width = heads.count * heads.width;
  const Tensor columns = slice(rows, 1, part * width, (part + 1) * width);
  return permute(reshape(columns, {rows.size(0), heads.count, heads.width}), {1, 0, 2});
}

// Returns weights of 1 after dropout, [H, T, T], for the sequence that starts at row `begin`. The
// random numbers of query n and head h start at position (n H + h) 2^24.
Tensor dropout_factors(const Heads& heads, Index begin, Index length) {
  Tensor factors = Tensor::ones({heads.count, length, length}, DType::float64);
  for (Index row = 0; row < heads.count * length; ++row) {
    const Index n = begin + row % length;
    double* values = factors.data<double>() + row * length;
    kernels::loops<double>().dropout(
        values, values,
        {.seed = kDropoutStream.seed,
         .stream = kDropoutStream.stream,
         .position = static_cast<std::uint64_t>(n * heads.count + row / length) << 24,
         .probability = heads.dropout},
        length);
  }
  return factors;
}

struct Outcome {
  Tensor output;                // [N, H D]
  Tensor qkv_grad;              // [N, 3 H D]
  std::vector<Tensor> weights;  // [H, T, T] per sequence
};

Tensor output_gradient(const Heads& heads) {
  return noise({heads.offsets().back(), heads.count * heads.width}, 3);
}

Outcome plain(const Tensor& qkv, const Heads& heads) {
  const std::vector<Index> offsets = heads.offsets();
  const Tensor gradient = output_gradient(heads);
  Outcome result;
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;
  for (std::size_t b = 0; b < heads.lengths.size(); ++b) {
    const Tensor rows = leaf(slice(qkv, 0, offsets[b], offsets[b + 1]).clone());
    const Tensor value = heads_of(rows, heads, 2);
    const AttentionResult attention = scaled_dot_product_attention(
        heads_of(rows, heads, 0), heads_of(rows, heads, 1), value, {.causal = heads.causal});
    const Tensor weights =
        heads.dropout > 0
            ? mul(attention.weights, dropout_factors(heads, offsets[b], heads.lengths[b]))
            : attention.weights;
    const Tensor output = reshape(permute(matmul(weights, value), {1, 0, 2}),
                                  {heads.lengths[b], heads.count * heads.width});
    backward(output, {.gradient = slice(gradient, 0, offsets[b], offsets[b + 1])});
    outputs.push_back(output.detach());
    gradients.push_back(rows.grad());
    result.weights.push_back(attention.weights.detach());
  }
  result.output = concat(outputs, 0);
  result.qkv_grad = concat(gradients, 0);
  return result;
}

// Fills free memory with NaN, so that tensors that are read before they are written show it.
void spoil_free_memory() {
  std::vector<Tensor> tensors;
  for (Index size = 1; size <= Index{1} << 20; size *= 2) {
    tensors.push_back(Tensor::empty({size}, DType::float64));
    tensors.back().fill(std::numeric_limits<double>::quiet_NaN());
  }
}

Outcome fused(const Tensor& qkv_given, const Heads& heads, DType dtype) {
  const Tensor qkv = leaf(convert(qkv_given, dtype));
  Outcome result;
  result.output = ragged_attention(qkv, {.heads = heads.count,
                                         .causal = heads.causal,
                                         .offsets = heads.offsets(),
                                         .dropout = heads.dropout,
                                         .random = kDropoutStream,
                                         .weights = &result.weights});
  backward(result.output, {.gradient = convert(output_gradient(heads), dtype)});
  result.qkv_grad = qkv.grad();
  return result;
}

// Replaces check_close, which is slow for millions of elements. NaN counts as infinite.
double largest_difference(const Tensor& actual, const Tensor& expected) {
  REQUIRE(actual.shape() == expected.shape());
  const std::vector<double> a = actual.to_vector();
  const std::vector<double> b = expected.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    largest = difference <= largest ? largest : difference;
    largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : largest;
  }
  return largest;
}

double worst_row_sum(const Tensor& weights) {
  const std::vector<double> values = weights.to_vector();
  const auto length = static_cast<std::size_t>(weights.size(-1));
  double worst = 0;
  for (std::size_t row = 0; row < values.size() / length; ++row) {
    double sum = 0;
    for (std::size_t key = 0; key < length; ++key) {
      sum += values[row * length + key];
    }
    worst = std::max(worst, std::abs(sum - 1));
  }
  return worst;
}

void check_every_variant(const Heads& heads) {
  const Index columns = 3 * heads.count * heads.width;
  const Tensor qkv =
      random_normal({heads.offsets().back(), columns}, {1, 2}, 0, heads.spread, DType::float64);
  const Outcome expected = plain(qkv, heads);
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = (dtype == DType::float32 ? 5e-5 : 1e-12) * heads.spread * heads.spread;
    with_each_variant([&] {
      INFO(dtype << ", D " << heads.width << ", dropout " << heads.dropout);
      spoil_free_memory();
      const Outcome actual = fused(qkv, heads, dtype);
      CHECK(largest_difference(actual.output, expected.output) < tolerance);
      CHECK(largest_difference(actual.qkv_grad, expected.qkv_grad) < tolerance);
      REQUIRE(actual.weights.size() == heads.lengths.size());
      for (std::size_t b = 0; b < heads.lengths.size(); ++b) {
        INFO("length " << heads.lengths[b]);
        CHECK(largest_difference(actual.weights[b], expected.weights[b]) < tolerance);
        CHECK(worst_row_sum(actual.weights[b]) < (dtype == DType::float32 ? 2e-6 : 1e-13));
      }
    });
  }
}

TEST_CASE("fused attention equals plain attention on every instruction set for any head width") {
  for (const Index width : {1, 5, 8, 32, 33, 64}) {
    check_every_variant({.count = 1, .width = width, .lengths = kLengths});
  }
}

TEST_CASE("fused attention without a causal mask equals plain attention on every instruction set") {
  for (const Index width : {5, 32}) {
    check_every_variant({.count = 2, .width = width, .lengths = kLengths, .causal = false});
  }
}

TEST_CASE("fused attention drops the weights that its random stream names, forward and backward") {
  for (const Index width : {5, 32}) {
    check_every_variant({.count = 2, .width = width, .lengths = kLengths, .dropout = 0.3});
  }
}

TEST_CASE("weights recorded over several tiles of keys are rescaled to the final maximum") {
  // Scores differ by hundreds, so most rows find their maximum after the first tile.
  check_every_variant({.count = 3, .width = 8, .lengths = {600, 513}, .spread = 6});
}
}  // namespace fused_attention_tiles_test
