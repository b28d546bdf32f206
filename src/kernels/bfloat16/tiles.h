#pragma once

#include <cstdint>
#include <span>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tile.h"

// The innermost parts of a product of float32 matrices whose elements are rounded to bfloat16 (to
// nearest, ties to even) while they are packed, with float32 sums. Two instruction sets have such
// products.
namespace headlight::kernels {

using Bfloat16Bits = std::uint16_t;

inline constexpr Index kBfloat16Depth = 32;    // packed depths are multiples of this
inline constexpr Index kBfloat16Columns = 32;  // of a panel

// A strip [rows, depth] of bfloat16, row after row, times a panel [depth / 2, columns, 2].
struct Bfloat16Operands {
  const Bfloat16Bits* strip = nullptr;
  const Bfloat16Bits* panel = nullptr;
  Index depth = 0;  // a multiple of kBfloat16Depth
};

// to [rows of a strip, columns of a panel] = strip panel, or += when it adds.
struct Bfloat16Product {
  float* to = nullptr;
  Index stride = 0;
  bool adds = false;
};

struct Bfloat16Tiles {
  const char* name;
  Index rows;  // of a strip, at most

  // Columns [0, width) of B [k, width] as panel [depth / 2, columns, 2]; what is missing is 0.
  void (*pack_panel)(const MatrixView<float>& b, Index k, Index width, Bfloat16Bits* panel);
  // Rows [0, height) of A [height, k] as strip [rows, depth]; what is missing is 0.
  void (*pack_strip)(const MatrixView<float>& a, Index k, Index height, Bfloat16Bits* strip);
  // Before and after products on a thread.
  void (*begin)();
  void (*end)();
  void (*multiply)(const Bfloat16Operands& operands, const Bfloat16Product& product);
};

// What CPU and system have, the best first: AMX, AVX512-BF16.
std::span<const Bfloat16Tiles* const> bfloat16_tile_sets();

// The best of them, with --cpu_variant v4; nullptr: none.
const Bfloat16Tiles* bfloat16_tiles();

void bfloat16_gemm(const Gemm<float>& product, const Bfloat16Tiles& tiles);

inline Index packed_depth(Index k) {
  return (k + kBfloat16Depth - 1) / kBfloat16Depth * kBfloat16Depth;
}

}  // namespace headlight::kernels
