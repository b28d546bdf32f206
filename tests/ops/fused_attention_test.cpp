#include "kernels/gemm/gemm.h"
#include "support/cpu_variants.h"
#include "support/test.h"

// Compares the fused kernels with plain attention, for lengths around every tile boundary.

namespace fused_attention_test {
constexpr Index kHeads = 3;      // H
constexpr Index kHeadWidth = 8;  // D
constexpr Index kWidth = kHeads * kHeadWidth;
const std::vector<Index> kLengths{1, 2, 63, 64, 65, 256, 257, 300};

std::vector<Index> offsets_of(const std::vector<Index>& lengths) {
  std::vector<Index> offsets{0};
  for (const Index length : lengths) {
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

// Returns head-major query (0), key (1) or value (2) of one sequence: [H, T, D].
Tensor heads_of(const Tensor& qkv, Index begin, Index end, Index part) {
  const Tensor rows = slice(qkv, 0, begin, end);
  const Tensor columns = slice(rows, 1, part * kWidth, (part + 1) * kWidth);
  return permute(reshape(columns, {end - begin, kHeads, kHeadWidth}), {1, 0, 2});
}

// Converts [H, T, D] to [T, H D].
Tensor joined(const Tensor& heads) {
  return reshape(permute(heads, {1, 0, 2}), {heads.size(1), kWidth});
}

AttentionResult plain(const Tensor& qkv, Index begin, Index end, double scale = 0) {
  return scaled_dot_product_attention(heads_of(qkv, begin, end, 0), heads_of(qkv, begin, end, 1),
                                      heads_of(qkv, begin, end, 2),
                                      {.causal = true, .scale = scale});
}

void check_against_plain(DType dtype, double tolerance, double scale) {
  const std::vector<Index> offsets = offsets_of(kLengths);
  const Tensor qkv = leaf(random_normal({offsets.back(), 3 * kWidth}, {1, 2}, 0, 1.5, dtype));
  std::vector<Tensor> weights;
  const Tensor output = ragged_attention(
      qkv, {.heads = kHeads, .offsets = offsets, .scale = scale, .weights = &weights});
  REQUIRE(weights.size() == kLengths.size());
  const Tensor gradient = noise(output.shape(), 3, dtype);
  backward(output, {.gradient = gradient});
  for (std::size_t b = 0; b < kLengths.size(); ++b) {
    INFO("length " << kLengths[b]);
    const Index begin = offsets[b];
    const Index end = offsets[b + 1];
    const Tensor same = leaf(qkv.detach().clone());
    const AttentionResult expected = plain(same, begin, end, scale);
    const Tensor expected_output = joined(expected.output);
    check_close(slice(output, 0, begin, end), expected_output, tolerance);
    check_close(weights[b], expected.weights, tolerance);
    backward(expected_output, {.gradient = slice(gradient, 0, begin, end)});
    check_close(slice(qkv.grad(), 0, begin, end), slice(same.grad(), 0, begin, end), tolerance);
  }
}

TEST_CASE("fused attention equals plain causal attention per sequence in float64") {
  check_against_plain(DType::float64, 1e-12, 0);
}

TEST_CASE("fused attention equals plain causal attention per sequence in float32") {
  check_against_plain(DType::float32, 2e-5, 0);
}

TEST_CASE("fused attention takes the same scale as plain attention") {
  check_against_plain(DType::float64, 1e-12, 0.7);
}

// Options for shared keys and values, and for windows.
struct Sharing {
  Index heads = 1;
  Index key_heads = 1;
  Index window = 0;
  double cap = 0;
};

// Plain attention of one sequence [T, (H + 2 G) D], by scaled_dot_product_attention's ops.
AttentionResult plain(const Tensor& qkv, const Sharing& sharing) {
  const Index length = qkv.size(0);
  const auto part = [&](Index first, Index heads) {
    const Tensor columns = slice(qkv, 1, first * kHeadWidth, (first + heads) * kHeadWidth);
    return permute(reshape(columns, {length, heads, kHeadWidth}), {1, 0, 2});
  };
  return scaled_dot_product_attention(part(0, sharing.heads),
                                      part(sharing.heads, sharing.key_heads),
                                      part(sharing.heads + sharing.key_heads, sharing.key_heads),
                                      {.causal = true,
                                       .window = sharing.window,
                                       .enable_gqa = sharing.key_heads < sharing.heads,
                                       .cap = sharing.cap});
}

void check_sharing(const Sharing& sharing, DType dtype, double tolerance) {
  const std::vector<Index> offsets = offsets_of({1, 65, 321});
  const Index width = (sharing.heads + 2 * sharing.key_heads) * kHeadWidth;
  const Tensor qkv = leaf(random_normal({offsets.back(), width}, {1, 2}, 0, 1.5, dtype));
  std::vector<Tensor> weights;
  const Tensor output = ragged_attention(qkv, {.heads = sharing.heads,
                                               .key_heads = sharing.key_heads,
                                               .window = sharing.window,
                                               .offsets = offsets,
                                               .cap = sharing.cap,
                                               .weights = &weights});
  const Tensor gradient = noise(output.shape(), 3, dtype);
  backward(output, {.gradient = gradient});
  for (std::size_t b = 0; b < weights.size(); ++b) {
    const Index begin = offsets[b];
    const Index end = offsets[b + 1];
    INFO(sharing.heads << " heads, " << sharing.key_heads << " key heads, window " << sharing.window
                       << ", length " << end - begin);
    const Tensor same = leaf(slice(qkv.detach(), 0, begin, end).clone());
    const AttentionResult expected = plain(same, sharing);
    const Tensor expected_output =
        reshape(permute(expected.output, {1, 0, 2}), {end - begin, sharing.heads * kHeadWidth});
    check_close(slice(output, 0, begin, end), expected_output, tolerance);
    check_close(weights[b], expected.weights, tolerance);
    backward(expected_output, {.gradient = slice(gradient, 0, begin, end)});
    check_close(slice(qkv.grad(), 0, begin, end), same.grad(), tolerance);
  }
}

TEST_CASE("fused attention with shared keys and windows equals plain attention") {
  for (const Sharing& sharing :
       {Sharing{4, 2, 0}, Sharing{2, 2, 1}, Sharing{2, 1, 64}, Sharing{1, 1, 256}}) {
    check_sharing(sharing, DType::float64, 1e-12);
  }
  check_sharing({4, 2, 100}, DType::float32, 5e-5);
}

TEST_CASE("fused attention with a soft cap equals plain attention") {
  check_sharing({1, 1, 0, 0.7}, DType::float64, 1e-12);
  check_sharing({4, 2, 100, 0.7}, DType::float64, 1e-12);
  check_sharing({2, 1, 0, 2}, DType::float32, 5e-5);
}

TEST_CASE("cached attention with a soft cap equals the last rows of attention with it") {
  const Tensor qkv = noise({300, 3 * kHeadWidth}, 1, DType::float64);
  const Tensor whole = ragged_attention(qkv, {.offsets = {0, 300}, .cap = 0.6});
  const auto part = [&](Index i) { return slice(qkv, 1, i * kHeadWidth, (i + 1) * kHeadWidth); };
  const auto rows = [&](Index i) { return reshape(contiguous(part(i)), {1, 300, kHeadWidth}); };
  const Tensor output =
      cached_attention(slice(part(0), 0, 250, 300), rows(1), rows(2), {.cap = 0.6});
  check_close(output, slice(whole, 0, 250, 300), 1e-13);
}

TEST_CASE("keys before a window change no bit") {
  Tensor qkv = noise({300, 3 * kHeadWidth}, 1, DType::float32);
  const RaggedAttentionOptions options{.window = 20, .offsets = {0, 300}};
  const Tensor before = ragged_attention(qkv, options);
  slice(qkv, 0, 0, 100).fill(1e3);
  CHECK(same_bits(slice(before, 0, 119, 300), slice(ragged_attention(qkv, options), 0, 119, 300)));
}

TEST_CASE("recording weights changes no bit of the output") {
  const Tensor qkv = noise({300, 3 * kWidth}, 1, DType::float32);
  std::vector<Tensor> weights;
  const RaggedAttentionOptions plain_options{.heads = kHeads, .offsets = {0, 300}};
  RaggedAttentionOptions recording = plain_options;
  recording.weights = &weights;
  CHECK(same_bits(ragged_attention(qkv, plain_options), ragged_attention(qkv, recording)));
  ragged_attention(qkv, recording);
  CHECK(weights.size() == 2);  // appended, not replaced
  CHECK_FALSE(weights[0].requires_grad());
}

TEST_CASE("concatenated sequences do not attend to each other") {
  const Tensor a = noise({70, 3 * kWidth}, 1);
  const Tensor b = noise({30, 3 * kWidth}, 2);
  const Tensor both =
      ragged_attention(concat({a, b}, 0), {.heads = kHeads, .offsets = {0, 70, 100}});
  const Tensor alone = ragged_attention(b, {.heads = kHeads, .offsets = {0, 30}});
  CHECK(same_bits(slice(both, 0, 70, 100), alone));
}

TEST_CASE("the output at a position depends on no later position") {
  Tensor qkv = noise({300, 3 * kWidth}, 1);
  const RaggedAttentionOptions options{.heads = kHeads, .offsets = {0, 300}};
  const Tensor before = ragged_attention(qkv, options);
  slice(qkv, 0, 200, 300).fill(50);
  const Tensor after = ragged_attention(qkv, options);
  CHECK(same_bits(slice(before, 0, 0, 200), slice(after, 0, 0, 200)));
  CHECK_FALSE(same_bits(slice(before, 0, 200, 201), slice(after, 0, 200, 201)));
}

TEST_CASE("the online softmax survives scores that keep growing from tile to tile") {
  // Scores of later keys are higher by hundreds, so the maximum grows in every tile.
  Tensor qkv = noise({600, 3 * kWidth}, 1);
  for (Index row = 0; row < 600; ++row) {
    qkv.data<double>()[row * 3 * kWidth] = 10;
    qkv.data<double>()[row * 3 * kWidth + kWidth] = static_cast<double>(row);
  }
  const Tensor output = ragged_attention(qkv, {.heads = kHeads, .offsets = {0, 600}});
  check_close(output, joined(plain(qkv, 0, 600).output), 1e-12);
  const Tensor narrow =
      ragged_attention(convert(qkv, DType::float32), {.heads = kHeads, .offsets = {0, 600}});
  for (const double value : narrow.to_vector()) {
    REQUIRE(std::isfinite(value));
  }
}

TEST_CASE("cached attention equals the last rows of attention over the whole sequence") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float32 ? 2e-6 : 1e-13;
    const Tensor qkv = noise({300, 3 * kWidth}, 1, dtype);
    const Tensor whole = ragged_attention(qkv, {.heads = kHeads, .offsets = {0, 300}});
    const auto part = [&](Index i) {
      return contiguous(slice(qkv, 1, i * kWidth, (i + 1) * kWidth));
    };
    const auto heads_of = [&](const Tensor& x) {  // [S, H D] -> [H, S, D]
      return contiguous(transpose(reshape(x, {300, kHeads, kWidth / kHeads}), 0, 1));
    };
    const Tensor keys = heads_of(part(1));
    const Tensor values = heads_of(part(2));
    for (const Index length : {Index{1}, Index{64}, Index{257}, Index{300}}) {
      for (const Index queries : {Index{1}, Index{2}, Index{65}, Index{300}}) {
        if (queries <= length) {
          const Tensor query = slice(part(0), 0, length - queries, length);
          const Tensor output =
              cached_attention(query, slice(keys, 1, 0, length), slice(values, 1, 0, length));
          check_close(output, slice(whole, 0, length - queries, length), tolerance);
          CHECK_FALSE(output.requires_grad());
        }
      }
    }
  }
}

TEST_CASE("cached attention ignores rows of the cache that are not in use") {
  const Tensor query = noise({1, kWidth}, 1);
  Tensor keys = noise({kHeads, 10, kWidth / kHeads}, 2);
  Tensor values = noise({kHeads, 10, kWidth / kHeads}, 3);
  const Tensor before = cached_attention(query, slice(keys, 1, 0, 4), slice(values, 1, 0, 4));
  slice(keys, 1, 4, 10).fill(std::numeric_limits<double>::quiet_NaN());
  slice(values, 1, 4, 10).fill(std::numeric_limits<double>::quiet_NaN());
  CHECK(same_bits(before, cached_attention(query, slice(keys, 1, 0, 4), slice(values, 1, 0, 4))));
}

TEST_CASE("threads divide the queries of a long sequence without changing a bit") {
  const Precision precision = GENERATE(Precision::float32, Precision::bfloat16);
  const Index window = GENERATE(0, 300);
  if (!supports_precision(precision)) {
    return;
  }
  const Index length = 1000;
  const Tensor qkv = noise({length, 3 * kWidth}, 7, DType::float32);
  std::vector<Tensor> weights;  // recording keeps the sequence whole
  const RaggedAttentionOptions options{
      .heads = kHeads, .window = window, .offsets = {0, length}, .precision = precision};
  RaggedAttentionOptions recording = options;
  recording.weights = &weights;
  const Tensor whole = ragged_attention(qkv, recording);
  CHECK(same_bits(ragged_attention(qkv, options), whole));
  const auto part = [&](Index number) {
    return slice(qkv, 1, number * kWidth, (number + 1) * kWidth);
  };
  const auto heads = [&](const Tensor& x) {  // [S, H D] -> [H, S, D]
    return contiguous(transpose(reshape(x, {length, kHeads, kHeadWidth}), 0, 1));
  };
  CHECK(same_bits(cached_attention(part(0), heads(part(1)), heads(part(2)),
                                   {.window = window, .precision = precision}),
                  whole));
}

TEST_CASE("NaN in one position reaches that position and later ones only") {
  Tensor qkv = noise({80, 3 * kWidth}, 1);
  qkv.data<double>()[70 * 3 * kWidth + kWidth] = std::numeric_limits<double>::quiet_NaN();  // key
  const std::vector<double> output =
      ragged_attention(qkv, {.heads = kHeads, .offsets = {0, 80}}).to_vector();
  for (Index t = 0; t < 80; ++t) {
    const double first_head = output[static_cast<std::size_t>(t * kWidth)];
    CHECK(std::isnan(first_head) == (t >= 70));
    CHECK_FALSE(std::isnan(output[static_cast<std::size_t>(t * kWidth + kHeadWidth)]));
  }
}

TEST_CASE("in bfloat16 attention rounds query, key and value, forward and backward") {
  if (kernels::bfloat16_instructions().empty()) {
    return;  // this machine rejects bfloat16
  }
  const auto attend = [](const Tensor& values, Precision precision) {
    const Tensor qkv = leaf(values.clone());
    const Tensor output =
        ragged_attention(qkv, {.heads = kHeads, .offsets = {0, 70, 100}, .precision = precision});
    backward(output, {.gradient = noise(output.shape(), 3, DType::float32)});
    return std::pair{output.detach(), qkv.grad()};
  };
  const Tensor qkv = noise({100, 3 * kWidth}, 1, DType::float32);
  const Tensor rounded = convert(convert(qkv, DType::bfloat16), DType::float32);
  const auto [output, gradient] = attend(qkv, Precision::bfloat16);
  const auto [same_output, same_gradient] = attend(rounded, Precision::bfloat16);
  CHECK(same_bits(output, same_output));
  CHECK(same_bits(gradient, same_gradient));
  const auto [float_output, float_gradient] = attend(rounded, Precision::float32);
  CHECK_FALSE(same_bits(output, float_output));
  CHECK_FALSE(same_bits(gradient, float_gradient));
  check_close(output, float_output, 0.01);
  check_close(gradient, float_gradient, 0.02);
}

TEST_CASE("bfloat16 attention is refused where the chosen instruction set has no such products") {
  const VariantScope scope(kernels::CpuVariant::baseline);
  const Tensor qkv = noise({4, 3 * kWidth}, 1, DType::float32);
  CHECK_THROWS_WITH(
      ragged_attention(qkv, {.heads = kHeads, .offsets = {0, 4}, .precision = Precision::bfloat16}),
      "dtype: bfloat16 needs a CPU with AVX512-BF16 or AMX, and --cpu_variant v4; "
      "use float32 here");
}
}  // namespace fused_attention_test
