#include "kernels/layers/rotary.h"
#include "support/test.h"

TEST_CASE("a decoder that rotates one token gets the same bits as the op") {
  const RopeOptions options{.width = 20, .style = RotaryStyle::interleaved};
  const Tensor x = noise({3, 2, 26}, 1, DType::float32);
  const Tensor y = rope(x, ints({2, 900, 70}, {3}), options);
  const std::vector<float> frequencies = inverse_frequencies(options, 26);
  Tensor token = slice(x, 0, 1, 2).clone();
  kernels::rotate_row(
      token.data<float>(), token.data<float>(), 2, 26,
      {.inverse_frequencies = frequencies, .position = 900, .style = RotaryStyle::interleaved});
  CHECK(same_bits(token, slice(y, 0, 1, 2)));
}

TEST_CASE("yarn keeps pairs that turn often and divides the frequencies of those that do not") {
  const RopeOptions yarn{
      .scaling = RopeScaling::yarn, .factor = 8, .original_max_position_embeddings = 1024};
  const std::vector<float> plain = inverse_frequencies({}, 64);
  const std::vector<float> scaled = inverse_frequencies(yarn, 64);
  // Pairs of 1024 / (2 pi 10000^(i / 32)) = 32 and 1 turns: 5.65 and 17.7.
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double share = std::clamp((static_cast<double>(i) - 5) / (18 - 5), 0.0, 1.0);
    const double expected = static_cast<double>(plain[i]) * (1 - share + share / 8);
    CHECK(static_cast<double>(scaled[i]) == Approx(expected).epsilon(1e-5));
  }
  RopeOptions exact = yarn;
  exact.truncate = false;
  CHECK(inverse_frequencies(exact, 64)[6] < plain[6]);
  CHECK(inverse_frequencies(exact, 64)[5] == plain[5]);
}

TEST_CASE("rope accepts zero rows and zero heads and positions with gaps") {
  CHECK(rope(Tensor::zeros({0, 2, 4}), Tensor::zeros({0}, DType::int32)).shape() == Shape{0, 2, 4});
  CHECK(rope(Tensor::zeros({2, 0, 4}), ints({1, 2}, {2})).shape() == Shape{2, 0, 4});
  const Tensor x = noise({2, 1, 4}, 1);
  const Tensor every_second = slice(ints({5, 0, 7, 0}, {4}), 0, 0, 4, 2);
  CHECK(same_bits(rope(x, every_second), rope(x, ints({5, 7}, {2}))));
}
