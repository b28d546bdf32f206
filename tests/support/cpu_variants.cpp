#include "support/cpu_variants.h"

#include "tensor/float16.h"

namespace headlight::test {
namespace {

using kernels::Bfloat16Bits;
using kernels::kBfloat16Columns;

constexpr Index kRows = 14;

float float_of(Bfloat16Bits bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

void pack_panel(const kernels::MatrixView<float>& b, Index k, Index width, Bfloat16Bits* panel) {
  for (Index p = 0; p < kernels::packed_depth(k); ++p) {
    for (Index column = 0; column < kBfloat16Columns; ++column) {
      panel[p / 2 * 2 * kBfloat16Columns + 2 * column + p % 2] =
          p < k && column < width ? float_to_bfloat16(*b.at(p, column)) : Bfloat16Bits{0};
    }
  }
}

void pack_strip(const kernels::MatrixView<float>& a, Index k, Index height, Index stride,
                Bfloat16Bits* strip) {
  for (Index row = 0; row < kRows; ++row) {
    for (Index p = 0; p < kernels::packed_depth(k); ++p) {
      strip[row * stride + p] =
          p < k && row < height ? float_to_bfloat16(*a.at(row, p)) : Bfloat16Bits{0};
    }
  }
}

void multiply(const kernels::Bfloat16Operands& operands, const kernels::Bfloat16Product& product) {
  constexpr Index kHalf = kBfloat16Columns / 2;
  for (Index row = 0; row < kRows; ++row) {
    for (Index column = 0; column < kBfloat16Columns; ++column) {
      const Bfloat16Bits* panel =
          operands.panel + column / kHalf * operands.right + 2 * (column % kHalf);
      float& to = product.to[row * product.stride + column];
      float sum = product.adds ? to : 0.0F;
      for (Index p = 0; p < operands.depth; ++p) {
        sum += float_of(operands.strip[row * operands.depth + p]) *
               float_of(panel[p / 2 * operands.pair_stride + p % 2]);
      }
      to = sum;
    }
  }
}

}  // namespace

const kernels::Bfloat16Tiles kPlainTiles{.name = "plain loops",
                                         .rows = kRows,
                                         .pack_panel = pack_panel,
                                         .pack_strip = pack_strip,
                                         .begin = [] {},
                                         .end = [] {},
                                         .multiply = multiply};

}  // namespace headlight::test
