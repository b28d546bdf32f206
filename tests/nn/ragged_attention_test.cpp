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
