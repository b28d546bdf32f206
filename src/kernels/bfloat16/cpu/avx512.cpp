// Products by vdpbf16ps of AVX512-BF16, which adds two products to each lane. Compiled for CPUs
// with AVX512-BF16, and called only on them.
#include <immintrin.h>

#include "kernels/bfloat16/cpu/packing.h"

namespace headlight::kernels {
namespace {

constexpr int kRows = 14;  // 14 x 2 accumulators + 2 for the panel + 1 for the strip = 31 registers

void begin() {}
void end() {}

inline std::int32_t pair_at(const Bfloat16Bits* from) {
  return static_cast<std::int32_t>(from[0] | static_cast<std::uint32_t>(from[1]) << 16);
}

void multiply(const Bfloat16Operands& operands, const Bfloat16Product& product) {
  __m512 sums[kRows][2];
#pragma GCC unroll 14
  for (int row = 0; row < kRows; ++row) {
    const float* before = product.to + row * product.stride;
    sums[row][0] = product.adds ? _mm512_loadu_ps(before) : _mm512_setzero_ps();
    sums[row][1] = product.adds ? _mm512_loadu_ps(before + kLanes) : _mm512_setzero_ps();
  }
  for (Index p = 0; p < operands.depth; p += 2) {
    const Bfloat16Bits* panel = operands.panel + p / 2 * operands.pair_stride;
    const auto left = reinterpret_cast<__m512bh>(_mm512_loadu_si512(panel));
    const auto right = reinterpret_cast<__m512bh>(_mm512_loadu_si512(panel + operands.right));
#pragma GCC unroll 14
    for (int row = 0; row < kRows; ++row) {
      const auto pair = reinterpret_cast<__m512bh>(
          _mm512_set1_epi32(pair_at(operands.strip + row * operands.depth + p)));
      sums[row][0] = _mm512_dpbf16_ps(sums[row][0], pair, left);
      sums[row][1] = _mm512_dpbf16_ps(sums[row][1], pair, right);
    }
  }
#pragma GCC unroll 14
  for (int row = 0; row < kRows; ++row) {
    _mm512_storeu_ps(product.to + row * product.stride, sums[row][0]);
    _mm512_storeu_ps(product.to + row * product.stride + kLanes, sums[row][1]);
  }
}

}  // namespace

const Bfloat16Tiles kAvx512Bfloat16Tiles = {.name = "AVX512-BF16",
                                            .rows = kRows,
                                            .pack_panel = pack_panel,
                                            .pack_strip = pack_strip<kRows>,
                                            .begin = begin,
                                            .end = end,
                                            .multiply = multiply};

}  // namespace headlight::kernels
