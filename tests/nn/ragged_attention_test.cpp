#include "support/test.h"

namespace ragged_attention_test {
constexpr Index kWidth = 12;
constexpr Index kHeads = 3;

// Sequences with lengths at the borders of tiles of 64 queries and 256 keys, and shorter ones.
const std::vector<Index> kOffsets{0, 16, 21, 22, 24, 88, 153, 453, 454, 474};

Tensor input(Index tokens = kOffsets.back()) { return noise({tokens, kWidth}, 1); }

CausalSelfAttentionOptions double_options() {
  return {.width = kWidth, .plan = {.heads = kHeads}, .dtype = DType::float64};
}

TEST_CASE("a recorder collects and pads the weights of heads as the general module returns them") {
  const CausalSelfAttention attention(double_options());
  randomize(attention, 2);
  const MultiHeadAttention general({.width = kWidth, .heads = kHeads, .dtype = DType::float64});
  copy_projections(attention, general);
  const Tensor flat = input();
  Recorder recorder;
  const Tensor recorded = attention.forward(flat, kOffsets, {.recorder = &recorder});
  CHECK(same_bits(recorded, attention.forward(flat, kOffsets, {})));
  const Tensor padded = recorder.padded(0);
  REQUIRE(padded.shape() == Shape{9, kHeads, 300, 300});
  for (Index b = 0; b < 9; ++b) {
    INFO("sequence " << b);
    const Index begin = kOffsets[static_cast<std::size_t>(b)];
    const Index length = kOffsets[static_cast<std::size_t>(b) + 1] - begin;
    const Tensor x = unsqueeze(slice(flat, 0, begin, begin + length), 0);
    const Tensor expected = select(general.forward(x, x, x, {.causal = true}).weights, 0, 0);
    const Tensor& own = recorder.sequences(0)[static_cast<std::size_t>(b)];
    CHECK(largest_difference(own, expected) < 1e-12);
    const Tensor in_padding = select(padded, 0, b);
    CHECK(same_bits(slice(slice(in_padding, 1, 0, length), 2, 0, length), own));
    CHECK(sum(in_padding).item() == Approx(sum(own).item()).epsilon(1e-12));  // zeros elsewhere
  }
}

TEST_CASE("a recorder keeps the requested layers under their own numbers") {
  CausalSelfAttentionOptions options = double_options();
  options.layer = 3;
  const CausalSelfAttention third(options);
  options.layer = 5;
  const CausalSelfAttention fifth(options);
  const std::vector<Index> offsets{0, 2, 5};
  Recorder some({5});
  Recorder all;
  for (Recorder* recorder : {&some, &all}) {
    third.forward(input(5), offsets, {.recorder = recorder});
    fifth.forward(input(5), offsets, {.recorder = recorder});
  }
  CHECK(some.layers().size() == 1);
  CHECK(some.layers().at(5).size() == 2);
  CHECK(all.layers().size() == 2);
  CHECK(all.layers().at(3).size() == 2);
  CHECK_THROWS_WITH(some.padded(3), "[Recorder] layer 3 was not recorded");
  CHECK_THROWS_WITH(Recorder().padded(0), "[Recorder] layer 0 was not recorded");
}

TEST_CASE("kept results are not computed again") {
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
