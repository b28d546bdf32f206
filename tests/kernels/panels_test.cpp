#include <bit>

#include "kernels/panels/panels.h"
#include "kernels/product_error.h"
#include "support/cpu_variants.h"
#include "support/test.h"
#include "tensor/float16.h"

namespace panels_test {
using kernels::kPanelRows;

constexpr WeightFormat kFormats[] = {WeightFormat::float32, WeightFormat::bfloat16,
                                     WeightFormat::int8};

// Packs panels into memory aligned to 64 bytes.
Tensor pack(WeightFormat format, const std::vector<float>& weights, Index rows, Index columns) {
  const Index bytes = kernels::panel_bytes(format, columns);
  Tensor memory = Tensor::zeros({kernels::panel_count(rows) * bytes / 4}, DType::int32);
  for (Index panel = 0; panel < kernels::panel_count(rows); ++panel) {
    kernels::pack_panel(format, weights.data() + panel * kPanelRows * columns,
                        std::min(kPanelRows, rows - panel * kPanelRows), columns, 0,
                        reinterpret_cast<char*>(memory.data<std::int32_t>()) + panel * bytes);
  }
  return memory;
}

// Returns y [batch, 16 panels].
std::vector<float> multiply(WeightFormat format, const Tensor& panels, Index count, Index columns,
                            const std::vector<float>& x) {
  const Index batch = static_cast<Index>(x.size()) / columns;
  std::vector<float> y(static_cast<std::size_t>(batch * count * kPanelRows), -1);
  kernels::multiply_panels(format, {.panels = panels.data<std::int32_t>(),
                                    .count = count,
                                    .panel_bytes = kernels::panel_bytes(format, columns),
                                    .columns = columns,
                                    .x = x.data(),
                                    .x_stride = columns,
                                    .y = y.data(),
                                    .y_stride = count * kPanelRows,
                                    .batch = batch});
  return y;
}

std::vector<float> rounded(WeightFormat format, std::vector<float> weights, Index columns) {
  for (std::size_t row = 0; row < weights.size(); row += static_cast<std::size_t>(columns)) {
    kernels::round_row(format, weights.data() + row, columns);
  }
  return weights;
}

double error_of_product(WeightFormat format, Index rows, Index columns, Index batch) {
  const std::vector<float> weights = gaussians(rows * columns, 1);
  const std::vector<float> x = gaussians(batch * columns, 2);
  const Index panels = kernels::panel_count(rows);
  std::vector<float> worth = rounded(format, weights, columns);
  worth.resize(static_cast<std::size_t>(panels * kPanelRows * columns));  // padding gives 0
  return product_error(worth, columns, x,
                       multiply(format, pack(format, weights, rows, columns), panels, columns, x));
}

// Products with int8 weights also round the vectors.
double limit_of(WeightFormat format) { return format == WeightFormat::int8 ? 2e-4 : 3e-7; }

TEST_CASE("products of packed weights are the sums of products, and padding gives 0") {
  for (const WeightFormat format : kFormats) {
    for (const Index columns : {1, 2, 3, 5, 20, 31, 32, 33, 34, 64, 96, 199, 1024, 1100}) {
      for (const Index batch : {1, 2, 3, 4, 5, 9, 16, 18}) {
        INFO(static_cast<int>(format) << ", " << columns << " columns, " << batch << " vectors");
        CHECK(error_of_product(format, 21, columns, batch) < limit_of(format));
      }
    }
  }
}

TEST_CASE("the bits of a product do not depend on its neighbours") {
  const Index rows = 48;
  const Index batch = 39;  // groups of every size
  with_each_variant([&] {
    for (const WeightFormat format : kFormats) {
      for (const Index columns : {31, 77, 203}) {
        const Tensor panels = pack(format, gaussians(rows * columns, 3), rows, columns);
        const std::vector<float> x = gaussians(batch * columns, 4);
        const std::vector<float> together = multiply(format, panels, 3, columns, x);
        for (Index b = 0; b < batch; ++b) {
          const std::vector<float> one(x.begin() + b * columns, x.begin() + (b + 1) * columns);
          const std::vector<float> alone = multiply(format, panels, 3, columns, one);
          CHECK(std::memcmp(alone.data(), together.data() + b * rows,
                            alone.size() * sizeof(float)) == 0);
        }
      }
    }
  });
}

TEST_CASE("with int8 weights an outlier costs its neighbours an error of 2^-15 of its size") {
  constexpr Index kColumns = 64;
  std::vector<float> x(kColumns, 1.0F);
  x[5] = 60000;  // in the same block as 31 ones
  const Tensor panels = pack(WeightFormat::int8, std::vector<float>(kPanelRows * kColumns, 1.0F),
                             kPanelRows, kColumns);
  const float sum = multiply(WeightFormat::int8, panels, 1, kColumns, x)[0];
  CHECK(std::abs(sum - 60063.0F) <= 32 * 60000.0F / 32768.0F);
  x[5] = 1.0F;
  CHECK(multiply(WeightFormat::int8, panels, 1, kColumns, x)[0] == Approx(64).epsilon(1e-6));
}

TEST_CASE("NaN in a vector changes only the vector's own products for any weight format") {
  constexpr Index kColumns = 70;
  for (const WeightFormat format : kFormats) {
    const Tensor panels = pack(format, gaussians(kPanelRows * kColumns, 8), kPanelRows, kColumns);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      std::vector<float> x = gaussians(2 * kColumns, 9);
      x[kColumns - 1] = bad;
      const std::vector<float> y = multiply(format, panels, 1, kColumns, x);
      CHECK_FALSE(std::isfinite(y[0]));
      CHECK(std::isfinite(y[kPanelRows]));
    }
  }
}

TEST_CASE("tiny and huge vectors are multiplied by int8 weights with the usual precision") {
  constexpr Index kColumns = 32;
  const Tensor panels = pack(WeightFormat::int8, std::vector<float>(kPanelRows * kColumns, 1.0F),
                             kPanelRows, kColumns);
  for (const float value : {1e-30F, 1e-10F, 1e30F, 1e36F}) {
    const std::vector<float> x(kColumns, value);
    CHECK(multiply(WeightFormat::int8, panels, 1, kColumns, x)[0] ==
          Approx(32 * value).epsilon(4e-5));
  }
  CHECK(multiply(WeightFormat::int8, panels, 1, kColumns, std::vector<float>(kColumns, 0))[0] == 0);
}

TEST_CASE("int8 weights are multiples of a 127th of the largest of 32 neighbours") {
  std::vector<float> row(64);
  row[0] = 127;
  row[1] = -126.4F;
  row[2] = 0.49F;
  row[3] = 0.51F;
  row[31] = -127;
  row[32] = 12.7F;
  row[33] = 0.06F;
  row[34] = 0.04F;
  kernels::round_row(WeightFormat::int8, row.data(), 64);
  CHECK(row[0] == 127);
  CHECK(row[1] == -126);
  CHECK(row[2] == 0);
  CHECK(row[3] == 1);
  CHECK(row[31] == -127);
  CHECK(row[32] == Approx(12.7F));
  CHECK(row[33] == Approx(0.1F));
  CHECK(row[34] == 0);
  CHECK(row[63] == 0);
}

TEST_CASE("bfloat16 weights are rounded to nearest, ties to even") {
  std::vector<float> row{1.0F, 1.00390625F, 1.01171875F, 1.005F, -3.14159F};
  kernels::round_row(WeightFormat::bfloat16, row.data(), 5);
  CHECK(row == std::vector<float>{1.0F, 1.0F, 1.015625F, 1.0078125F, -3.140625F});
}

TEST_CASE("rounding packed weights again changes next to nothing") {
  for (const WeightFormat format : kFormats) {
    const std::vector<float> once = rounded(format, gaussians(960, 5), 96);
    const std::vector<float> twice = rounded(format, once, 96);
    for (std::size_t i = 0; i < once.size(); ++i) {
      CHECK(std::abs(twice[i] - once[i]) <= 3e-7F * std::abs(once[i]));
    }
  }
}

TEST_CASE("an unpacked panel has the rounded weights") {
  constexpr Index kRows = 11;
  constexpr Index kColumns = 75;
  const std::vector<float> weights = gaussians(kRows * kColumns, 8);
  for (const WeightFormat format : kFormats) {
    const Tensor panel = pack(format, weights, kRows, kColumns);
    std::vector<float> unpacked(weights.size());
    kernels::unpack_panel(format, panel.data<std::int32_t>(), kRows, kColumns, unpacked.data());
    CHECK(unpacked == rounded(format, weights, kColumns));
  }
}

TEST_CASE("a NaN weight gives a NaN product") {
  for (const WeightFormat format : kFormats) {
    std::vector<float> weights = gaussians(16 * 40, 6);
    weights[3 * 40 + 35] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> y =
        multiply(format, pack(format, weights, 16, 40), 1, 40, std::vector<float>(40, 1));
    CHECK(std::isnan(y[3]));
    CHECK_FALSE(std::isnan(y[2]));
    kernels::round_row(format, weights.data() + 3 * 40, 40);
    CHECK(std::isnan(weights[3 * 40 + 35]));
  }
}

TEST_CASE("the likeliest score is the first of the largest and other than numbers give no place") {
  with_each_variant([] {
    const auto& likeliest = kernels::decode_loops().likeliest;
    const float infinity = std::numeric_limits<float>::infinity();
    for (const Index n : {1, 15, 16, 1024, 1041, 5000}) {
      std::vector<float> scores(static_cast<std::size_t>(n), -infinity);
      CHECK(likeliest(scores.data(), n) == -1);
      for (const Index place : {n - 1, n / 2, Index{0}}) {
        scores[static_cast<std::size_t>(place)] = -3;
        CHECK(likeliest(scores.data(), n) == place);
      }
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity}) {
        scores.back() = bad;
        CHECK(likeliest(scores.data(), n) == -1);
      }
    }
  });
}

TEST_CASE("vectors round to float16 and back with the bits of single numbers") {
  std::vector<float> floats;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 40'009) {
    floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  std::vector<std::uint16_t> all(std::size_t{1} << 16);
  for (std::size_t half = 0; half < all.size(); ++half) {
    all[half] = static_cast<std::uint16_t>(half);
    floats.push_back(half_to_float(all[half]));
    const float next = half_to_float(static_cast<std::uint16_t>(half + 1));
    floats.push_back(0.5F * (floats.back() + next));  // halfway
    floats.push_back(std::nextafter(floats.back(), 1e9F));
  }
  std::vector<std::uint16_t> expected(floats.size());
  std::transform(floats.begin(), floats.end(), expected.begin(), float_to_half);
  with_each_variant([&] {
    const kernels::DecodeLoops& loops = kernels::decode_loops();
    std::vector<std::uint16_t> halves(floats.size());
    loops.to_float16(floats.data(), halves.data(), std::ssize(floats));
    CHECK(halves == expected);
    std::vector<float> back(all.size());
    loops.from_float16(all.data(), back.data(), std::ssize(all) - 1);
    for (std::size_t half = 0; half + 1 < all.size(); ++half) {
      const float value = half_to_float(all[half]);
      if (!(std::isnan(value) ? std::isnan(back[half])
                              : std::bit_cast<std::uint32_t>(back[half]) ==
                                    std::bit_cast<std::uint32_t>(value))) {
        FAIL("half " << half);
      }
    }
  });
}

TEST_CASE("softmax weights are exponentials to the last digits") {
  std::vector<double> scores;
  for (int i = 0; i <= 4000; ++i) {
    scores.push_back(3.0 - 0.18 * i);
  }
  scores.push_back(-std::numeric_limits<double>::infinity());
  std::vector<double> weights(scores.size());
  const double sum = kernels::decode_loops().softmax_weights(
      scores.data(), 3.0, 1.25, weights.data(), static_cast<Index>(scores.size()));
  double expected_sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double expected = std::exp((scores[i] - 3.0) / 1.25);
    expected_sum += expected;
    CHECK(std::abs(weights[i] - expected) <= 4e-16 * expected);
  }
  CHECK(weights[0] == 1.0);
  CHECK(weights.back() == 0.0);
  CHECK(sum == Approx(expected_sum).epsilon(1e-14));
}
}  // namespace panels_test
