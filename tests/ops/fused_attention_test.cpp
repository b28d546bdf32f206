#include "kernels/gemm/gemm.h"
#include "support/cpu_variants.h"
#include "support/test.h"

// Compares the fused kernels with plain attention. Lengths are around strips (6 or 14 rows), query
// tiles (56 or 64) and key tiles (256); head widths are around the panels.

namespace fused_attention_test {
constexpr RandomStream kDropoutStream{12, 34};

const std::vector<Index> kLengths{1, 2, 13, 14, 15, 55, 56, 57, 100, 255, 256, 257, 300, 600};

struct Row {
  Index heads = 1;      // H
  Index key_heads = 0;  // G; 0: H
  Index width = 8;      // D
  std::vector<Index> lengths = {1, 65, 321};
  bool causal = true;
  Index window = 0;
  double scale = 0;
  double cap = 0;
  double dropout = 0;
  double spread = 1.5;  // standard deviation of queries, keys and values

  Index shared() const { return key_heads > 0 ? key_heads : heads; }
  std::vector<Index> offsets() const {
    std::vector<Index> result{0};
    for (const Index length : lengths) {
      result.push_back(result.back() + length);
    }
    return result;
  }
  Tensor output_gradient() const { return noise({offsets().back(), heads * width}, 3); }
};

struct Outcome {
  Tensor output;                // [N, H D]
  Tensor qkv_grad;              // [N, (H + 2 G) D]
  std::vector<Tensor> weights;  // [H, T, T] per sequence
};

// Returns `count` heads of width D from head `first` on, as [count, T, D].
Tensor heads_of(const Tensor& qkv, Index width, Index first, Index count) {
  const Tensor columns = slice(qkv, 1, first * width, (first + count) * width);
  return permute(reshape(columns, {qkv.size(0), count, width}), {1, 0, 2});
}

// Returns weights of 1 after dropout, [H, T, T], for the sequence that starts at row `begin`. The
// random numbers of query n and head h start at position (n H + h) 2^24.
Tensor dropout_factors(const Row& row, Index begin, Index length) {
  Tensor factors = Tensor::ones({row.heads, length, length}, DType::float64);
  for (Index i = 0; i < row.heads * length; ++i) {
    const Index n = begin + i % length;
    double* values = factors.data<double>() + i * length;
    kernels::loops<double>().dropout(
        values, values,
        {.seed = kDropoutStream.seed,
         .stream = kDropoutStream.stream,
         .position = static_cast<std::uint64_t>(n * row.heads + i / length) << 24,
         .probability = row.dropout},
        length);
  }
  return factors;
}

Outcome plain(const Tensor& qkv, const Row& row) {
  const std::vector<Index> offsets = row.offsets();
  const Tensor gradient = row.output_gradient();
  Outcome result;
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;
  for (std::size_t b = 0; b < row.lengths.size(); ++b) {
    const Tensor own = leaf(slice(qkv, 0, offsets[b], offsets[b + 1]).clone());
    const Tensor value = heads_of(own, row.width, row.heads + row.shared(), row.shared());
    const AttentionResult attention =
        scaled_dot_product_attention(heads_of(own, row.width, 0, row.heads),
                                     heads_of(own, row.width, row.heads, row.shared()), value,
                                     {.causal = row.causal,
                                      .window = row.window,
                                      .enable_gqa = row.shared() < row.heads,
                                      .scale = row.scale,
                                      .cap = row.cap});
    const Tensor heads =
        row.dropout > 0
            ? matmul(attention.weights * dropout_factors(row, offsets[b], row.lengths[b]), value)
            : attention.output;
    const Tensor output = reshape(permute(heads, {1, 0, 2}), {own.size(0), row.heads * row.width});
    backward(output, {.gradient = slice(gradient, 0, offsets[b], offsets[b + 1])});
    outputs.push_back(output.detach());
    gradients.push_back(own.grad());
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
    tensors.back().fill(kNaN);
  }
}

Outcome fused(const Tensor& values, const Row& row, DType dtype) {
  const Tensor qkv = leaf(convert(values, dtype));
  Outcome result;
  result.output = ragged_attention(qkv, {.heads = row.heads,
                                         .key_heads = row.shared(),
                                         .window = row.window,
                                         .causal = row.causal,
                                         .offsets = row.offsets(),
                                         .scale = row.scale,
                                         .cap = row.cap,
                                         .dropout = row.dropout,
                                         .random = kDropoutStream,
                                         .weights = &result.weights});
  backward(result.output, {.gradient = convert(row.output_gradient(), dtype)});
  result.qkv_grad = qkv.grad();
  return result;
}

double worst_row_sum(const Tensor& weights) {
  return largest_difference(sum(weights, {.axes = {-1}}),
                            Tensor::ones({weights.size(0), weights.size(1)}, weights.dtype()));
}

void check_on_every_variant(const Row& row) {
  const Index columns = (row.heads + 2 * row.shared()) * row.width;
  const Tensor qkv =
      random_normal({row.offsets().back(), columns}, {1, 2}, 0, row.spread, DType::float64);
  const Outcome expected = plain(qkv, row);
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = (dtype == DType::float32 ? 5e-5 : 1e-12) * row.spread * row.spread;
    with_each_variant([&] {
      CAPTURE(dtype, row.heads, row.shared(), row.width, row.causal, row.window, row.scale, row.cap,
              row.dropout, row.spread);
      spoil_free_memory();
      const Outcome actual = fused(qkv, row, dtype);
      CHECK(largest_difference(actual.output, expected.output) < tolerance);
      CHECK(largest_difference(actual.qkv_grad, expected.qkv_grad) < tolerance);
      REQUIRE(actual.weights.size() == row.lengths.size());
      for (std::size_t b = 0; b < row.lengths.size(); ++b) {
        INFO("length " << row.lengths[b]);
        CHECK(largest_difference(actual.weights[b], expected.weights[b]) < tolerance);
        CHECK(worst_row_sum(actual.weights[b]) < (dtype == DType::float32 ? 2e-6 : 1e-13));
      }
    });
  }
}

TEST_CASE("fused attention equals plain attention on every instruction set for any head width",
          "[long]") {
  for (const Index width : {1, 5, 8, 32, 33, 64}) {
    check_on_every_variant({.width = width, .lengths = kLengths});
  }
}

TEST_CASE("fused attention equals plain attention with every option") {
  const std::vector<Index> tiles{1, 2, 63, 64, 65, 256, 257, 300};
  const std::vector<Row> rows{
      {.heads = 3, .lengths = tiles},
      {.heads = 3, .lengths = tiles, .scale = 0.7},
      {.heads = 2, .width = 5, .lengths = kLengths, .causal = false},
      {.heads = 2, .width = 32, .lengths = kLengths, .causal = false},
      {.heads = 2, .width = 5, .lengths = kLengths, .dropout = 0.3},
      {.heads = 2, .width = 32, .lengths = kLengths, .dropout = 0.3},
      {.heads = 4, .key_heads = 2},
      {.heads = 2, .window = 1},
      {.heads = 2, .key_heads = 1, .window = 64},
      {.heads = 1, .window = 256},
      {.heads = 4, .key_heads = 2, .window = 100},
      {.heads = 1, .cap = 0.7},
      {.heads = 4, .key_heads = 2, .window = 100, .cap = 0.7},
      {.heads = 2, .key_heads = 1, .cap = 2},
      // Scores differ by hundreds, so most rows find their maximum after the first tile of keys.
      {.heads = 3, .lengths = {600, 513}, .spread = 6}};
  for (const Row& row : rows) {
    check_on_every_variant(row);
  }
}

constexpr Index kHeads = 3;
constexpr Index kHeadWidth = 8;
constexpr Index kWidth = kHeads * kHeadWidth;

Tensor part(const Tensor& qkv, Index number) {
  return slice(qkv, 1, number * kWidth, (number + 1) * kWidth);
}

// Returns keys (1) or values (2) in the layout of a cache, [H, S, D].
Tensor cached_part(const Tensor& qkv, Index number) {
  return contiguous(heads_of(qkv, kHeadWidth, number * kHeads, kHeads));
}

RaggedAttentionOptions options_of(const std::vector<Index>& offsets) {
  return {.heads = kHeads, .offsets = offsets};
}

TEST_CASE("cached attention equals the last rows of attention over the whole sequence") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const double cap = GENERATE(0.0, 0.6);
  const Tensor qkv = noise({300, 3 * kWidth}, 1, dtype);
  RaggedAttentionOptions options = options_of({0, 300});
  options.cap = cap;
  const Tensor whole = ragged_attention(qkv, options);
  const Tensor keys = cached_part(qkv, 1);
  const Tensor values = cached_part(qkv, 2);
  for (const Index length : {Index{1}, Index{64}, Index{257}, Index{300}}) {
    for (const Index queries : {Index{1}, Index{2}, Index{50}, Index{65}, Index{300}}) {
      if (queries <= length) {
        const Tensor output =
            cached_attention(slice(part(qkv, 0), 0, length - queries, length),
                             slice(keys, 1, 0, length), slice(values, 1, 0, length), {.cap = cap});
        check_close(output, slice(whole, 0, length - queries, length),
                    dtype == DType::float32 ? 2e-6 : 1e-13);
        CHECK_FALSE(output.requires_grad());
      }
    }
  }
}

TEST_CASE("cached attention of several sequences equals that of each") {
  const Tensor query = noise({5, kWidth}, 1, DType::float32);
  const Tensor keys = noise({kHeads, 12, kHeadWidth}, 2, DType::float32);
  const Tensor values = noise({kHeads, 12, kHeadWidth}, 3, DType::float32);
  std::vector<Tensor> weights;
  const Tensor all = cached_attention(
      query, keys, values,
      {.offsets = {0, 2, 5}, .key_offsets = {0, 5, 12}, .window = 4, .weights = &weights});
  const auto one = [&](Index begin, Index end, Index first, Index last) {
    return cached_attention(slice(query, 0, begin, end), slice(keys, 1, first, last),
                            slice(values, 1, first, last), {.window = 4, .weights = &weights});
  };
  CHECK(same_bits(slice(all, 0, 0, 2), one(0, 2, 0, 5)));
  CHECK(same_bits(slice(all, 0, 2, 5), one(2, 5, 5, 12)));
  REQUIRE(weights.size() == 4);
  CHECK(same_bits(weights[0], weights[2]));
  CHECK(same_bits(weights[1], weights[3]));
}

TEST_CASE("cached attention ignores rows of the cache that are not in use") {
  const Tensor query = noise({1, kWidth}, 1);
  Tensor keys = noise({kHeads, 10, kHeadWidth}, 2);
  Tensor values = noise({kHeads, 10, kHeadWidth}, 3);
  const auto attend = [&] {
    return cached_attention(query, slice(keys, 1, 0, 4), slice(values, 1, 0, 4));
  };
  const Tensor before = attend();
  slice(keys, 1, 4, 10).fill(kNaN);
  slice(values, 1, 4, 10).fill(kNaN);
  CHECK(same_bits(before, attend()));
}

TEST_CASE("recording weights changes no bit of the output") {
  const Tensor qkv = noise({300, 3 * kWidth}, 1, DType::float32);
  std::vector<Tensor> weights;
  RaggedAttentionOptions recording = options_of({0, 300});
  recording.weights = &weights;
  CHECK(same_bits(ragged_attention(qkv, options_of({0, 300})), ragged_attention(qkv, recording)));
  ragged_attention(qkv, recording);
  CHECK(weights.size() == 2);  // appended, not replaced
  CHECK_FALSE(weights[0].requires_grad());
}

TEST_CASE("concatenated sequences do not attend to each other") {
  const Tensor a = noise({70, 3 * kWidth}, 1);
  const Tensor b = noise({30, 3 * kWidth}, 2);
  const Tensor both = ragged_attention(concat({a, b}, 0), options_of({0, 70, 100}));
  CHECK(same_bits(slice(both, 0, 70, 100), ragged_attention(b, options_of({0, 30}))));
}

TEST_CASE("positions outside the view of a query change no bit of its output") {
  struct Hidden {
    Index window;
    Index begin;  // of the changed rows
    Index end;
    Index first;  // of the outputs that do not see them
    Index last;
  };
  for (const Hidden& hidden : {Hidden{0, 200, 300, 0, 200}, Hidden{20, 0, 100, 119, 300}}) {
    Tensor qkv = noise({300, 3 * kWidth}, 1, DType::float32);
    RaggedAttentionOptions options = options_of({0, 300});
    options.window = hidden.window;
    const Tensor before = ragged_attention(qkv, options);
    slice(qkv, 0, hidden.begin, hidden.end).fill(50);
    const Tensor after = ragged_attention(qkv, options);
    CHECK(same_bits(slice(before, 0, hidden.first, hidden.last),
                    slice(after, 0, hidden.first, hidden.last)));
    CHECK_FALSE(same_bits(select(before, 0, hidden.begin), select(after, 0, hidden.begin)));
  }
}

TEST_CASE("the online softmax survives scores that keep growing from tile to tile") {
  // Scores of later keys are higher by hundreds, so the maximum grows in every tile.
  Tensor qkv = noise({600, 3 * kWidth}, 1);
  for (Index row = 0; row < 600; ++row) {
    qkv.data<double>()[row * 3 * kWidth] = 10;
    qkv.data<double>()[row * 3 * kWidth + kWidth] = static_cast<double>(row);
  }
  const Tensor output = ragged_attention(qkv, options_of({0, 600}));
  check_close(output, plain(qkv, {.heads = kHeads, .lengths = {600}}).output, 1e-12);
  CHECK(all_finite(ragged_attention(convert(qkv, DType::float32), options_of({0, 600}))));
}

TEST_CASE("threads divide the queries of a long sequence without changing a bit") {
  const Precision precision = GENERATE(Precision::float32, Precision::bfloat16);
  const Index window = GENERATE(0, 300);
  if (!supports_precision(precision)) {
    return;
  }
  const Tensor qkv = noise({1000, 3 * kWidth}, 7, DType::float32);
  std::vector<Tensor> weights;  // recording keeps the sequence whole
  RaggedAttentionOptions options = options_of({0, 1000});
  options.window = window;
  options.precision = precision;
  RaggedAttentionOptions recording = options;
  recording.weights = &weights;
  const Tensor whole = ragged_attention(qkv, recording);
  CHECK(same_bits(ragged_attention(qkv, options), whole));
  CHECK(same_bits(cached_attention(part(qkv, 0), cached_part(qkv, 1), cached_part(qkv, 2),
                                   {.window = window, .precision = precision}),
                  whole));
}

TEST_CASE("NaN in one position reaches that position and later ones only") {
  Tensor qkv = noise({80, 3 * kWidth}, 1);
  qkv.data<double>()[70 * 3 * kWidth + kWidth] = kNaN;  // a key
  const std::vector<double> output = ragged_attention(qkv, options_of({0, 80})).to_vector();
  for (std::size_t t = 0; t < 80; ++t) {
    CHECK(std::isnan(output[t * kWidth]) == (t >= 70));
    CHECK_FALSE(std::isnan(output[t * kWidth + kHeadWidth]));  // of another head
  }
}

TEST_CASE("in bfloat16 attention rounds query, key and value, forward and backward") {
  if (kernels::bfloat16_instructions().empty()) {
    return;  // this machine rejects bfloat16
  }
  const auto attend = [](const Tensor& values, Precision precision) {
    const Tensor qkv = leaf(values.clone());
    RaggedAttentionOptions options = options_of({0, 70, 100});
    options.precision = precision;
    const Tensor output = ragged_attention(qkv, options);
    backward(output, {.gradient = noise(output.shape(), 3, DType::float32)});
    return std::vector{output.detach(), qkv.grad()};
  };
  const Tensor qkv = noise({100, 3 * kWidth}, 1, DType::float32);
  const Tensor rounded = convert(convert(qkv, DType::bfloat16), DType::float32);
  const std::vector<Tensor> own = attend(qkv, Precision::bfloat16);
  CHECK(same_bits(own, attend(rounded, Precision::bfloat16)));
  const std::vector<Tensor> floats = attend(rounded, Precision::float32);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK_FALSE(same_bits(own[i], floats[i]));
    check_close(own[i], floats[i], i == 0 ? 0.01 : 0.02);
  }
}

TEST_CASE("bfloat16 attention is refused where the chosen instruction set has no such products") {
  const VariantScope scope(kernels::CpuVariant::baseline);
  RaggedAttentionOptions options = options_of({0, 4});
  options.precision = Precision::bfloat16;
  CHECK_THROWS_WITH(ragged_attention(noise({4, 3 * kWidth}, 1, DType::float32), options),
                    "dtype: bfloat16 needs a CPU with AVX512-BF16 or AMX, and --cpu_variant v4; "
                    "use float32 here");
}
}  // namespace fused_attention_test
