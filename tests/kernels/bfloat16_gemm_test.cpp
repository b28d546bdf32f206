#include "kernels/gemm_products.h"
#include "support/cpu_variants.h"
#include "support/test.h"

namespace bfloat16_gemm_test {
using kernels::Bfloat16Tiles;

// Rounds to bfloat16, to nearest, ties to even.
float rounded(float value) {
  auto bits = __builtin_bit_cast(std::uint32_t, value);
  bits += 0x7FFFU + (bits >> 16 & 1U);
  return __builtin_bit_cast(float, bits & 0xFFFF0000U);
}

Operands<float> with_rounded_factors(Operands<float> operands) {
  for (std::vector<float>* values : {&operands.a, &operands.b}) {
    for (float& value : *values) {
      value = rounded(value);
    }
  }
  return operands;
}

void check_product(const Product& p) {
  CAPTURE(p.m, p.n, p.k, p.transpose_a, p.transpose_b, p.alpha, p.beta, p.bias, p.gap);
  const Operands<float> given(p);
  const std::vector<double> expected = naive(p, with_rounded_factors(given));
  with_each_tile_set([&](const Bfloat16Tiles& tiles) {
    Operands<float> operands = given;
    kernels::bfloat16_gemm(gemm_of(p, operands), tiles);
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      worst = std::max(worst, std::abs(expected[i] - static_cast<double>(operands.c[i])));
    }
    CHECK(worst <= 2e-7 * static_cast<double>(p.k + 8));
  });
}

TEST_CASE("bfloat16 products are float32 sums of rounded factors") {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      check_product({1, 1, 1, transpose_a, transpose_b});
      check_product({13, 31, 33, transpose_a, transpose_b});
      check_product({32, 32, 32, transpose_a, transpose_b});
      check_product({33, 65, 70, transpose_a, transpose_b, 0.5, 1});
      check_product({47, 20, 513, transpose_a, transpose_b, 1, 0, true, 3});
      check_product({70, 800, 40, transpose_a, transpose_b, 2, -0.5, false, 5});
    }
  }
}

TEST_CASE("bfloat16 products do not depend on the number of threads") {
  const Product p{131, 97, 600, true, false, 1, 1};
  const int before = thread_count();
  with_each_tile_set([&](const Bfloat16Tiles& tiles) {
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3, 8}) {
      set_thread_count(threads);
      Operands<float> operands(p);
      kernels::bfloat16_gemm(gemm_of(p, operands), tiles);
      results.push_back(operands.c);
    }
    for (const std::vector<float>& result : results) {
      CHECK(result == results.front());
    }
  });
  set_thread_count(before);
}

TEST_CASE("the bits of a row of a bfloat16 product do not depend on the other rows") {
  for (const bool bias : {false, true}) {
    const Product p{70, 65, 1100, false, true, 1, 0, bias};
    with_each_tile_set([&](const Bfloat16Tiles& tiles) {
      Operands<float> operands(p);
      kernels::bfloat16_gemm(gemm_of(p, operands), tiles);
      const std::vector<float> whole = operands.c;
      for (const Index rows : {1, 13, 40}) {
        kernels::Gemm<float> product = gemm_of(p, operands);
        product.m = rows;
        std::fill(operands.c.begin(), operands.c.end(), 0.0F);
        kernels::bfloat16_gemm(product, tiles);
        const auto end = operands.c.begin() + rows * operands.c_stride;
        CHECK(std::equal(operands.c.begin(), end, whole.begin()));
      }
    });
  }
}

TEST_CASE("the callback after a bfloat16 product sees every final element once") {
  const Product p{70, 70, 1100};
  with_each_tile_set([&](const Bfloat16Tiles& tiles) {
    Operands<float> operands(p);
    kernels::Gemm<float> product = gemm_of(p, operands);
    const Witness<float> witness(product);
    kernels::bfloat16_gemm(product, tiles);
    CHECK(witness.saw_each_once());
    CHECK(witness.saw_final_values());
  });
}

TEST_CASE("a NaN factor changes only its row of a bfloat16 product") {
  const Product p{40, 33, 35};
  with_each_tile_set([&](const Bfloat16Tiles& tiles) {
    Operands<float> operands(p);
    operands.a[3 * 35 + 7] = std::numeric_limits<float>::quiet_NaN();
    kernels::bfloat16_gemm(gemm_of(p, operands), tiles);
    for (std::size_t row = 0; row < 40; ++row) {
      CHECK(std::isnan(operands.c[row * 33 + 32]) == (row == 3));
    }
  });
}

TEST_CASE("bfloat16 is refused where the chosen instruction set has no such products") {
  CHECK(parse_name<Precision>("dtype", "bfloat16") == Precision::bfloat16);
  CHECK(name_of(Precision::float32) == "float32");
  check_error([&] { parse_name<Precision>("dtype", "float16"); }, {"dtype", "got 'float16'"});
  const VariantScope scope(kernels::CpuVariant::baseline);
  CHECK_NOTHROW(require_precision(Precision::float32));
  CHECK_THROWS_WITH(require_precision(Precision::bfloat16),
                    "dtype: bfloat16 needs a CPU with AVX512-BF16 or AMX, and --cpu_variant v4; "
                    "use float32 here");
}
}  // namespace bfloat16_gemm_test
