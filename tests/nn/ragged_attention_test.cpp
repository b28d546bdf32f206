#include "support/test.h"

namespace ragged_attention_test {
constexpr Index kWidth = 12;
constexpr Index kHeads = 3;

// Lengths at the borders of tiles of 64 queries and 256 keys, and shorter ones.
const std::vector<Index> kLengths{16, 5, 1, 2, 64, 65, 300, 1, 20};

// Sequences of these lengths laid end to end, and as a rectangle with large values as padding.
struct Sequences {
  explicit Sequences(const std::vector<Index>& given, DType dtype = DType::float64)
      : lengths(given), offsets{0} {
    for (const Index length : lengths) {
      offsets.push_back(offsets.back() + length);
      longest = std::max(longest, length);
    }
    const auto batch = static_cast<Index>(lengths.size());
    flat = random_uniform({offsets.back(), kWidth}, {5, 1}, -1, 1, dtype);
    padded = Tensor::full({batch, longest, kWidth}, 50, dtype);
    for (Index b = 0; b < batch; ++b) {
      real_rows(padded, b).copy_from(flat_rows(flat, b));
    }
  }

  Index length(Index b) const { return lengths[static_cast<std::size_t>(b)]; }
  // Returns the rows of sequence b.
  Tensor flat_rows(const Tensor& x, Index b) const {
    const Index width = x.size(-1);
    return x.strided_view({length(b), width}, {width, 1},
                          offsets[static_cast<std::size_t>(b)] * width);
  }
  Tensor real_rows(const Tensor& x, Index b) const {
    const Index width = x.size(-1);
    return x.strided_view({length(b), width}, {width, 1}, b * longest * width);
  }

  std::vector<Index> lengths;
  std::vector<Index> offsets;
  Index longest = 0;
  Tensor flat;    // [N, C]
  Tensor padded;  // [B, T, C]
};

// A MultiHeadAttention with the weights of a CausalSelfAttention, for padded sequences.
class PaddedAttention : public MultiHeadAttention {
 public:
  explicit PaddedAttention(const CausalSelfAttention& attention)
      : MultiHeadAttention({.width = kWidth, .heads = kHeads, .dtype = DType::float64}) {
    copy_projections(attention, *this);
  }

  AttentionResult forward(const Sequences& s) const {
    const AttentionMasks masks{.key_padding = padding_mask(s.lengths, s.longest), .causal = true};
    return MultiHeadAttention::forward(s.padded, s.padded, s.padded, masks);
  }
};

CausalSelfAttentionOptions double_options() {
  return {.width = kWidth, .plan = {.heads = kHeads}, .dtype = DType::float64};
}

// Returns sequence b's part of padded weights [B, H, T, T].
Tensor real_weights(const Tensor& weights, const Sequences& s, Index b) {
  return weights.strided_view({kHeads, s.length(b), s.length(b)},
                              {s.longest * s.longest, s.longest, 1},
                              b * kHeads * s.longest * s.longest);
}

// Returns the gradients in the form of CausalSelfAttention's parameters, which join queries, keys
// and values.
std::vector<Tensor> joined_gradients(const MultiHeadAttention& attention) {
  const auto gradient = [&](const std::string& name) {
    return parameter_of(attention, name).grad();
  };
  std::vector<Tensor> gradients;
  for (const std::string kind : {".weight", ".bias"}) {
    gradients.push_back(concat(
        {gradient("q_proj" + kind), gradient("k_proj" + kind), gradient("v_proj" + kind)}, 0));
  }
  gradients.push_back(gradient("c_proj.weight"));
  gradients.push_back(gradient("c_proj.bias"));
  return gradients;
}

TEST_CASE("ragged attention gives real tokens the same output as padded causal attention") {
  const CausalSelfAttention attention(double_options());
  randomize(attention, 2);
  const Sequences s(kLengths);
  const Tensor ragged = attention.forward(s.flat, s.offsets, {});
  const Tensor padded = PaddedAttention(attention).forward(s).output;
  for (Index b = 0; b < static_cast<Index>(s.lengths.size()); ++b) {
    INFO("sequence " << b);
    CHECK(largest_difference(s.flat_rows(ragged, b), s.real_rows(padded, b)) < 1e-10);
  }
}

TEST_CASE("ragged and padded attention give the same gradients of parameters and inputs") {
  const CausalSelfAttention attention(double_options());
  randomize(attention, 2);
  Sequences s(kLengths);
  const Tensor factors = random_uniform(s.flat.shape(), {5, 2}, 0.5, 1.5, DType::float64);
  Tensor padded_factors = Tensor::zeros(s.padded.shape(), DType::float64);
  for (Index b = 0; b < static_cast<Index>(s.lengths.size()); ++b) {
    s.real_rows(padded_factors, b).copy_from(s.flat_rows(factors, b));
  }
  s.flat.set_requires_grad();
  s.padded.set_requires_grad();
  backward(sum(attention.forward(s.flat, s.offsets, {}) * factors));
  const std::vector<Tensor> ragged = gradients_of(attention);
  const PaddedAttention general(attention);
  backward(sum(general.forward(s).output * padded_factors));
  const std::vector<Tensor> padded = joined_gradients(general);
  REQUIRE(ragged.size() == padded.size());
  for (std::size_t i = 0; i < ragged.size(); ++i) {
    CHECK(relative_difference(ragged[i], padded[i]) < 1e-10);
  }
  for (Index b = 0; b < static_cast<Index>(s.lengths.size()); ++b) {
    CHECK(largest_difference(s.flat_rows(s.flat.grad(), b), s.real_rows(s.padded.grad(), b)) <
          1e-10);
  }
}

TEST_CASE("a window hides the keys before it like a mask of MultiHeadAttention") {
  CausalSelfAttentionOptions options = double_options();
  options.plan.window = 2;
  const CausalSelfAttention attention(options, RandomStream{7});
  MultiHeadAttention general({.width = kWidth, .heads = kHeads, .dtype = DType::float64});
  copy_projections(attention, general);
  const Tensor x = random_normal({5, kWidth}, RandomStream{8}, 0, 1, DType::float64);
  const Tensor batch = reshape(x, {1, 5, kWidth});
  const Tensor before = convert(tril(Tensor::ones({5, 5}), -2), DType::boolean);
  const AttentionResult whole =
      general.forward(batch, batch, batch, {.mask = before, .causal = true});
  CHECK(whole.weights.to_vector()[2 * 5] == 0);  // key 0 of query 2
  CHECK(largest_difference(reshape(whole.output, {5, kWidth}), attention.forward(x, {0, 5})) <
        1e-12);
}

TEST_CASE("causal self-attention refuses invalid sizes") {
  CHECK_THROWS_WITH(CausalSelfAttention({.width = 512, .plan = {.heads = 7}}),
                    "[CausalSelfAttention] width 512 must be a multiple of the number of heads, 7");
  CHECK_NOTHROW(CausalSelfAttention({.width = 512, .plan = {.heads = 7, .head_width = 64}}));
  CHECK_THROWS_WITH(CausalSelfAttention({.width = 8, .plan = {.heads = 4, .key_heads = 3}}),
                    "[CausalSelfAttention] 4 heads cannot share 3 key heads");
  CHECK_NOTHROW(
      CausalSelfAttention({.width = 8, .plan = {.heads = 4, .key_heads = 2, .key_ends = {3, 4}}}));
  CHECK_THROWS_WITH(CausalSelfAttention({.width = 0, .plan = {.heads = 1}}),
                    "[CausalSelfAttention] expected a positive width and number of heads, got 0 "
                    "and 1");
  CHECK_THROWS_AS(CausalSelfAttention({.width = 8, .plan = {.heads = 2, .head_width = -4}}), Error);
}

TEST_CASE("a recorder collects the weights of every head as the general module returns them") {
  const CausalSelfAttention attention(double_options());
  randomize(attention, 2);
  const Sequences s(kLengths);
  Recorder recorder;
  const Tensor plain = attention.forward(s.flat, s.offsets, {});
  const Tensor recorded = attention.forward(s.flat, s.offsets, {.recorder = &recorder});
  CHECK(same_bits(recorded, plain));
  const Tensor expected = PaddedAttention(attention).forward(s).weights;
  const std::vector<Tensor>& weights = recorder.sequences(0);
  REQUIRE(weights.size() == s.lengths.size());
  for (Index b = 0; b < static_cast<Index>(s.lengths.size()); ++b) {
    INFO("sequence " << b);
    const Tensor& own = weights[static_cast<std::size_t>(b)];
    REQUIRE(own.shape() == Shape{kHeads, s.length(b), s.length(b)});
    CHECK(largest_difference(own, real_weights(expected, s, b)) < 1e-12);
  }
}

TEST_CASE("the recorder pads weights to (B, H, T, T) with zeros for the pads") {
  const CausalSelfAttention attention(double_options());
  randomize(attention, 2);
  const Sequences s({4, 1, 7, 2});
  Recorder recorder;
  attention.forward(s.flat, s.offsets, {.recorder = &recorder});
  const Tensor padded = recorder.padded(0);
  REQUIRE(padded.shape() == Shape{4, kHeads, 7, 7});
  const Tensor expected = PaddedAttention(attention).forward(s).weights;
  const std::vector<double> values = padded.to_vector();
  const std::vector<double> wanted = expected.to_vector();
  double furthest = 0;
  double hidden = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<Index>(i);
    const Index b = place / (kHeads * 49);
    const Index t = place / 7 % 7;
    const Index key = place % 7;
    const bool seen = t < s.length(b) && key <= t;
    (seen ? furthest : hidden) =
        std::max(seen ? furthest : hidden, std::abs(values[i] - (seen ? wanted[i] : 0)));
  }
  CHECK(furthest < 1e-12);
  CHECK(hidden == 0);
}

TEST_CASE("in float32 the padded recording has rows that sum to one and zero rows for pads") {
  const CausalSelfAttention attention({.width = kWidth, .plan = {.heads = kHeads}}, {8, 8});
  const Sequences s({3, 5, 1}, DType::float32);
  Recorder recorder;
  attention.forward(s.flat, s.offsets, {.recorder = &recorder});
  const Tensor padded = recorder.padded(0);
  CHECK(padded.dtype() == DType::float32);
  const std::vector<double> sums = sum(padded, {.axes = {3}}).to_vector();  // [B, H, T]
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Index b = static_cast<Index>(i) / (kHeads * 5);
    const bool real = static_cast<Index>(i % 5) < s.length(b);
    CHECK(std::abs(sums[i] - (real ? 1 : 0)) <= (real ? 1e-6 : 0));
  }
}

TEST_CASE("a recorder takes the weights before dropout") {
  CausalSelfAttentionOptions options = double_options();
  options.dropout = 0.5;
  const CausalSelfAttention attention(options);
  const Sequences s({6, 9});
  Recorder evaluated;
  Recorder trained;
  attention.forward(s.flat, s.offsets, {.recorder = &evaluated});
  attention.forward(s.flat, s.offsets, {.training = true, .random = {3, 3}, .recorder = &trained});
  CHECK(same_bits(trained.sequences(0), evaluated.sequences(0)));
}

TEST_CASE("a recorder keeps the requested layers under their own numbers") {
  CausalSelfAttentionOptions options = double_options();
  options.layer = 3;
  const CausalSelfAttention third(options);
  options.layer = 5;
  const CausalSelfAttention fifth(options);
  const Sequences s({2, 3});
  Recorder some({5});
  Recorder all;
  for (Recorder* recorder : {&some, &all}) {
    third.forward(s.flat, s.offsets, {.recorder = recorder});
    fifth.forward(s.flat, s.offsets, {.recorder = recorder});
  }
  CHECK(some.layers().size() == 1);
  CHECK(some.layers().at(5).size() == 2);
  CHECK(all.layers().size() == 2);
  CHECK(all.layers().at(3).size() == 2);
  CHECK_THROWS_WITH(some.padded(3), "[Recorder] layer 3 was not recorded");
  CHECK_THROWS_WITH(Recorder().padded(0), "[Recorder] layer 0 was not recorded");
}

TEST_CASE("dropout in ragged attention keeps the expected output") {
  CausalSelfAttentionOptions options = double_options();
  options.dropout = 0.4;
  const CausalSelfAttention attention(options);
  randomize(attention, 8);
  const Sequences s({5, 1});
  const std::vector<double> plain = attention.forward(s.flat, s.offsets, {}).to_vector();
  constexpr int kDraws = 4000;
  const ThreadScope one_thread(1);
  std::vector<double> mean(plain.size(), 0.0);
  for (std::uint64_t number = 0; number < kDraws; ++number) {
    const Tensor output =
        attention.forward(s.flat, s.offsets, {.training = true, .random = {1, number}});
    const std::vector<double> values = output.to_vector();
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += values[i] / kDraws;
    }
  }
  double furthest = 0;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    furthest = std::max(furthest, std::abs(mean[i] - plain[i]));
  }
  CHECK(furthest < 0.05);
}

TEST_CASE("ragged attention refuses offsets that do not describe its input") {
  const CausalSelfAttention attention(double_options());
  const Tensor x = Tensor::ones({5, kWidth}, DType::float64);
  for (const std::vector<Index>& offsets :
       {std::vector<Index>{}, {0, 4}, {1, 5}, {0, 6, 5}, {0, 3, 2, 5}}) {
    CHECK_THROWS_AS(attention.forward(x, offsets, {}), Error);
  }
}

TEST_CASE("kept results are not computed again", "[nn]") {
  const std::vector<Index> offsets{0, 3, 8};
  const Tensor plain = leaf(noise({8, 3 * kWidth}, 4));
  const Tensor again = leaf(noise({8, 3 * kWidth}, 4));
  KeptAttention kept;
  {
    const NoGrad no_grad;
    ragged_attention(again, {.heads = kHeads, .offsets = offsets, .kept = &kept});
  }
  CHECK(kept.output.shape() == Shape{8, kWidth});
  CHECK(kept.log_sum_exp.shape() == Shape{8, kHeads});
  const Tensor expected = ragged_attention(plain, {.heads = kHeads, .offsets = offsets});
  const Tensor output =
      ragged_attention(again, {.heads = kHeads, .offsets = offsets, .kept = &kept});
  CHECK(output.data<double>() == kept.output.data<double>());
  CHECK(same_bits(output, expected));
  backward(sum(tanh(expected)));
  backward(sum(tanh(output)));
  CHECK(same_bits(again.grad(), plain.grad()));
}
}  // namespace ragged_attention_test
