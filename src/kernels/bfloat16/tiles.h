#pragma once

#include <cstdint>
#include <span>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tile.h"

// The innermost parts of products of float32 matrices with bfloat16 factors and float32 sums.
// Packing rounds the elements to bfloat16 (to nearest, ties to even). Implementations exist for two
// instruction sets.
namespace headlight::kernels {

using Bfloat16Bits = std::uint16_t;

inline constexpr Index kBfloat16Depth = 32;    // packed depths are multiples of this
inline constexpr Index kBfloat16Columns = 32;  // columns per panel

// A strip [rows, depth] of bfloat16, row-major, and a panel [depth / 2, columns, 2], whose halves
// of 16 columns may be apart.
struct Bfloat16Operands {
  const Bfloat16Bits* strip = nullptr;
  const Bfloat16Bits* panel = nullptr;
  Index depth = 0;                           // a multiple of kBfloat16Depth
  Index right = kBfloat16Columns;            // elements from the panel to its right half
  Index pair_stride = 2 * kBfloat16Columns;  // elements from two rows to the next
};

// to [rows of a strip, columns of a panel] = strip panel; += if `adds`.
struct Bfloat16Product {
  float* to = nullptr;
  Index stride = 0;
  bool adds = false;
};

struct Bfloat16Tiles {
  const char* name;
  Index rows;  // maximum rows of a strip

  // Packs columns [0, width) of B [k, width] as panel [depth / 2, columns, 2], padded with 0.
  void (*pack_panel)(const MatrixView<float>& b, Index k, Index width, Bfloat16Bits* panel);
  // Packs rows [0, height) of A [height, k] as strip [rows, packed_depth(k)], padded with 0.
  // `stride` is the distance between rows of the strip.
  void (*pack_strip)(const MatrixView<float>& a, Index k, Index height, Index stride,
                     Bfloat16Bits* strip);
  // Called before the first and after the last product on a thread.
  void (*begin)();
  void (*end)();
  void (*multiply)(const Bfloat16Operands& operands, const Bfloat16Product& product);
};

// Defined on x86-64 only.
extern const Bfloat16Tiles kAmxTiles;
extern const Bfloat16Tiles kAvx512Bfloat16Tiles;

// Returns the tile sets that the CPU and the system support, the fastest first: AMX, AVX512-BF16.
std::span<const Bfloat16Tiles* const> bfloat16_tile_sets();

// Returns the fastest tile set; nullptr without one, or if the variant in use is not v4.
const Bfloat16Tiles* bfloat16_tiles();

void bfloat16_gemm(const Gemm<float>& product, const Bfloat16Tiles& tiles);

struct PanelProduct;

// Multiplies panels of WeightFormat::bfloat16 by strips of x, [strips, rows of a strip, columns].
// `columns` is a multiple of kBfloat16Depth.
void multiply_strips(const PanelProduct& product, const Bfloat16Bits* strips,
                     const Bfloat16Tiles& tiles);

inline Index packed_depth(Index k) {
  return (k + kBfloat16Depth - 1) / kBfloat16Depth * kBfloat16Depth;
}

}  // namespace headlight::kernels
