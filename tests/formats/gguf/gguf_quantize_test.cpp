#include "formats/gguf/gguf_blocks.h"
#include "formats/gguf/gguf_header.h"
#include "support/test.h"

// Returns the values after rounding to a type.
std::vector<float> rounded(GgufType type, const std::vector<float>& values,
                           const std::vector<float>& importance = {}) {
  const GgufBlock block = gguf_block(type);
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(std::ssize(values) / block.elements * block.bytes));
  quantize_gguf(type, values, bytes, importance);
  std::vector<float> result(values.size());
  dequantize_gguf(type, bytes, result);
  return result;
}

double root_mean_square(const std::vector<float>& values) {
  const double sum =
      sum_of<double>(values, [&](float value) { return double{value} * double{value}; });
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Returns the error of rounding, relative to the values.
double error_of_type(GgufType type, const std::vector<float>& values) {
  std::vector<float> difference = rounded(type, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    difference[i] -= values[i];
  }
  return root_mean_square(difference) / root_mean_square(values);
}

// A uniform grid over the range of 32 (or 16) Gaussian values with 2^bits numbers has an error of
// about range / 2^bits / sqrt(12), with a range of 4.1 (3.5) deviations.
TEST_CASE("integers of GGUF have the error of their number of bits") {
  const std::vector<float> values = gaussians(256 * 64, 3);
  CHECK(error_of_type(GgufType::q8_0, values) < 0.0065);
  CHECK(error_of_type(GgufType::q6_k, values) < 0.0215);
  CHECK(error_of_type(GgufType::q5_k, values) < 0.041);
  CHECK(error_of_type(GgufType::q4_k, values) < 0.08);
  CHECK(error_of_type(GgufType::q5_1, values) < 0.042);
  CHECK(error_of_type(GgufType::q5_0, values) < 0.046);
  CHECK(error_of_type(GgufType::q4_0, values) < 0.088);
}

TEST_CASE("columns with more importance have smaller errors") {
  const std::vector<float> values = gaussians(256 * 64, 3);
  std::vector<float> importance(512);
  for (std::size_t i = 0; i < importance.size(); ++i) {
    importance[i] = i % 8 == 0 ? 100.0F : 1.0F;
  }
  const auto weighted_error = [&](const std::vector<float>& close) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double difference = double{close[i]} - double{values[i]};
      sum += double{importance[i % importance.size()]} * difference * difference;
    }
    return sum;
  };
  for (const GgufType type : {GgufType::q4_0, GgufType::q4_k, GgufType::q5_0, GgufType::q5_1,
                              GgufType::q5_k, GgufType::q6_k}) {
    INFO(name_of(type));
    CHECK(weighted_error(rounded(type, values, importance)) <
          0.85 * weighted_error(rounded(type, values)));
  }
}

TEST_CASE("blocks that are searched together are written as each one alone") {
  constexpr std::size_t kColumns = 96;
  const std::vector<float> values = gaussians(kColumns * 7, 5);
  std::vector<float> importance = gaussians(kColumns, 6);
  std::ranges::transform(importance, importance.begin(), [](float x) { return x * x; });
  for (const GgufType type : {GgufType::q4_0, GgufType::q5_0}) {
    for (const bool is_weighted : {false, true}) {
      const std::vector<float> all =
          rounded(type, values, is_weighted ? importance : std::vector<float>());
      std::vector<float> each;
      for (std::size_t at = 0; at < values.size(); at += 32) {
        const auto part_of = [](const std::vector<float>& from, std::size_t begin) {
          return std::vector(from.begin() + static_cast<Index>(begin),
                             from.begin() + static_cast<Index>(begin + 32));
        };
        const std::vector<float> block =
            rounded(type, part_of(values, at),
                    is_weighted ? part_of(importance, at % kColumns) : std::vector<float>());
        each.insert(each.end(), block.begin(), block.end());
      }
      CHECK(all == each);
    }
  }
}

TEST_CASE("values on the grid of a type stay as they are") {
  auto values = counted<float>(32, [&](int i) { return 0.25F * static_cast<float>(i % 16 - 8); });
  CHECK(rounded(GgufType::q4_0, values) == values);
  for (int i = 0; i < 32; ++i) {
    values[static_cast<std::size_t>(i)] = 0.25F * static_cast<float>(i - 16);
  }
  CHECK(rounded(GgufType::q5_0, values) == values);
  CHECK(rounded(GgufType::q5_1, values) == values);
}

TEST_CASE(
    "tiny values and zeros become finite integers and values that are not finite are refused") {
  for (const GgufType type : {GgufType::q4_0, GgufType::q5_0, GgufType::q5_1, GgufType::q4_k,
                              GgufType::q5_k, GgufType::q6_k}) {
    INFO(name_of(type));
    std::vector<float> values(256, 0.0F);
    CHECK(root_mean_square(rounded(type, values)) == 0);
    values.assign(256, 1e-38F);
    CHECK(root_mean_square(rounded(type, values)) < 1e-6);
    values[7] = INFINITY;
    CHECK_THROWS_WITH(rounded(type, values), contains_text("contains inf"));
    values.assign(256, 3e38F);
    CHECK_THROWS_WITH(rounded(type, values), contains_text("too large"));
  }
}
