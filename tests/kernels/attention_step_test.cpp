#include <bit>

#include "kernels/attention/attention_step.h"
#include "support/test.h"
#include "tensor/float16.h"

// Keys and values [S, D] in the layout of a cache: every block is [2, kAttentionBlock, D].
struct BlocksOfOneHead {
  BlocksOfOneHead(const std::vector<float>& keys, const std::vector<float>& values, Index length,
                  Index width) {
    for (Index begin = 0; begin < length; begin += kernels::kAttentionBlock) {
      const Index count = std::min(kernels::kAttentionBlock, length - begin) * width;
      std::vector<float>& block =
          blocks.emplace_back(static_cast<std::size_t>(2 * kernels::kAttentionBlock * width));
      std::copy_n(keys.begin() + begin * width, count, block.begin());
      std::copy_n(values.begin() + begin * width, count,
                  block.begin() + kernels::kAttentionBlock * width);
    }
    for (const std::vector<float>& block : blocks) {
      starts.push_back(block.data());
    }
  }

  std::vector<std::vector<float>> blocks;
  std::vector<const void*> starts;
};

// Computes the outputs [heads, D] of a step in parts of two blocks.
void attend_in_parts(kernels::AttentionStep step, std::vector<float>& output) {
  constexpr Index kPart = 2 * kernels::kAttentionBlock;
  const Index size = kernels::attention_sums(step.width);
  const Index length = step.length;
  const Index parts = (length + kPart - 1) / kPart;
  std::vector<float> sums(static_cast<std::size_t>(step.heads * parts * size));
  step.sums_stride = parts * size;
  for (Index part = 0; part < parts; ++part) {
    step.length = std::min(kPart, length - part * kPart);
    step.sums = sums.data() + part * size;
    kernels::attention_steps().attend(step);
    step.blocks += 2;
    step.hidden = 0;
  }
  for (Index head = 0; head < step.heads; ++head) {
    kernels::attention_steps().merge(sums.data() + head * step.sums_stride, parts, step.width,
                                     output.data() + head * step.width);
  }
}

// Compares steps with attention in float64.
void check_steps(double cap) {
  for (const Index width : {1, 7, 16, 20, 64}) {
    for (const Index length : {1, 2, 5, 33, 300}) {
      const auto query = gaussians(width, 1);
      const auto keys = gaussians(length * width, 2);
      const auto values = gaussians(length * width, 3);
      std::vector<float> output(static_cast<std::size_t>(width), -1);
      const BlocksOfOneHead memory(keys, values, length, width);
      attend_in_parts({.queries = query.data(),
                       .blocks = memory.starts.data(),
                       .values = kernels::kAttentionBlock * width,
                       .length = length,
                       .width = width,
                       .scale = 0.75F,
                       .cap = static_cast<float>(cap)},
                      output);
      const auto wide = [&](const std::vector<float>& rows) {
        return convert(Tensor::from(rows, {std::ssize(rows) / width, width}), DType::float64);
      };
      const AttentionResult expected = scaled_dot_product_attention(
          wide(query), wide(keys), wide(values), {.scale = 0.75, .cap = cap});
      check_close(wide(output), expected.output, 3e-6);
    }
  }
}

// Checks that a step reads keys and values of 16 bits like floats with the same numbers.
void check_halves(CacheType type, std::uint16_t (*half_of)(float),
                  float (*float_of)(std::uint16_t)) {
  for (const Index width : {1, 7, 20, 64}) {
    const Index length = 70;
    const auto rounded = [&](std::uint64_t stream) {
      std::vector<float> values = gaussians(length * width, stream);
      values[0] = 0x1p-24F;  // subnormal in float16
      for (float& value : values) {
        value = float_of(half_of(value));
      }
      return values;
    };
    const BlocksOfOneHead whole(rounded(2), rounded(3), length, width);
    std::vector<std::vector<std::uint16_t>> halves;
    std::vector<const void*> starts;
    for (const std::vector<float>& block : whole.blocks) {
      std::vector<std::uint16_t>& half = halves.emplace_back(block.size());
      std::ranges::transform(block, half.begin(), half_of);
      starts.push_back(half.data());
    }
    const auto query = gaussians(width, 1);
    std::vector<float> expected(static_cast<std::size_t>(width));
    std::vector<float> output(static_cast<std::size_t>(width));
    kernels::AttentionStep step{.queries = query.data(),
                                .blocks = whole.starts.data(),
                                .values = kernels::kAttentionBlock * width,
                                .length = length,
                                .width = width};
    attend_in_parts(step, expected);
    step.blocks = starts.data();
    step.type = type;
    attend_in_parts(step, output);
    CHECK(output == expected);
  }
}

TEST_CASE("a step of attention is the softmax of the scores, with a cap or not, times the values") {
  check_steps(0);
  check_steps(1.5);
}

TEST_CASE("a step of attention reads keys and values of 16 bits") {
  check_halves(CacheType::float16, float_to_half, half_to_float);
  check_halves(CacheType::bfloat16, float_to_bfloat16, [](std::uint16_t bits) {
    return static_cast<float>(std::bit_cast<BFloat16>(bits));
  });
}

TEST_CASE("query heads that share a key head have the bits of one head alone") {
  const Index length = 300;
  for (const Index width : {20, 64, 80}) {
    const BlocksOfOneHead memory(gaussians(length * width, 2), gaussians(length * width, 3), length,
                                 width);
    for (const Index heads : {2, 3, 7, 19}) {
      const auto queries = gaussians(heads * width, 1);
      kernels::AttentionStep step{.queries = queries.data(),
                                  .heads = heads,
                                  .blocks = memory.starts.data(),
                                  .values = kernels::kAttentionBlock * width,
                                  .length = length,
                                  .hidden = 37,
                                  .width = width,
                                  .scale = 0.3F};
      std::vector<float> together(queries.size());
      attend_in_parts(step, together);
      std::vector<float> alone(queries.size());
      step.heads = 1;
      for (Index head = 0; head < heads; ++head) {
        step.queries = queries.data() + head * width;
        std::vector<float> output(static_cast<std::size_t>(width));
        attend_in_parts(step, output);
        std::ranges::copy(output, alone.begin() + head * width);
      }
      CHECK(together == alone);
    }
  }
}

TEST_CASE("a step of attention reads keys and values of 8 bits with their scales") {
  constexpr Index kBlock = kernels::kAttentionBlock;
  for (const Index width : {1, 7, 20, 64}) {
    const Index length = 70;
    const Index size = kernels::cached_head(CacheType::int8, width);
    std::vector<float> numbers[2] = {gaussians(length * width, 2), gaussians(length * width, 3)};
    // Floats, for the alignment of scales.
    std::vector<std::vector<float>> blocks(
        2, std::vector<float>(static_cast<std::size_t>(2 * size / 4)));
    const std::vector<const void*> starts{blocks[0].data(), blocks[1].data()};
    for (Index t = 0; t < length; ++t) {
      for (Index part = 0; part < 2; ++part) {
        auto* head =
            reinterpret_cast<std::int8_t*>(blocks[static_cast<std::size_t>(t / kBlock)].data()) +
            part * size;
        float* row = numbers[part].data() + t * width;
        std::int8_t* to = head + t % kBlock * width;
        float* scale = reinterpret_cast<float*>(head + kBlock * width) + t % kBlock;
        kernels::round_to_int8(row, width, to, scale);
        for (Index d = 0; d < width; ++d) {
          row[d] = static_cast<float>(to[d]) * *scale;
        }
      }
    }
    const auto query = gaussians(2 * width, 1);
    const BlocksOfOneHead whole(numbers[0], numbers[1], length, width);
    std::vector<float> expected(query.size());
    std::vector<float> output(query.size());
    kernels::AttentionStep step{.queries = query.data(),
                                .heads = 2,
                                .blocks = whole.starts.data(),
                                .values = kBlock * width,
                                .length = length,
                                .hidden = 3,
                                .width = width};
    attend_in_parts(step, expected);
    step.blocks = starts.data();
    step.type = CacheType::int8;
    step.values = size;
    attend_in_parts(step, output);
    for (std::size_t d = 0; d < output.size(); ++d) {
      CHECK(output[d] == Approx(expected[d]).margin(3e-6));
    }
  }
}

TEST_CASE(
    "rounding to 8 bits keeps the largest value and zeros and shows values that are not finite") {
  std::int8_t numbers[3] = {};
  float scale = 0;
  const auto round = [&](float a, float b, float c) {
    const float values[] = {a, b, c};
    kernels::round_to_int8(values, 3, numbers, &scale);
  };
  round(2.54F, -1.27F, 0.0099F);
  CHECK(scale == 2.54F / 127);
  CHECK(std::vector<int>(numbers, numbers + 3) == std::vector<int>{127, -64, 0});
  for (const float tiny : {0.0F, 1e-45F, 2e-43F}) {
    round(tiny, -tiny, 0);
    CHECK(std::abs(static_cast<float>(numbers[0]) * scale) <= tiny);
    CHECK(numbers[0] == -numbers[1]);
  }
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    round(1, bad, 2);
    CHECK(std::isnan(scale));
  }
}
