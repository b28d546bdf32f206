// Products by AMX: tiles of 16 rows by 64 bytes (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 1, chapter 18). Compiled for CPUs with AMX, and called only on them.
#include <immintrin.h>

#include "kernels/bfloat16/cpu/packing.h"

namespace headlight::kernels {
namespace {

constexpr Index kRows = 32;
constexpr Index kTileRows = 16;
constexpr Index kTileBytes = 64;

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

constexpr TileConfig eight_whole_tiles() {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.row_bytes[tile] = kTileBytes;
    config.rows[tile] = kTileRows;
  }
  return config;
}

// A constant, because compilers assume that _tile_loadconfig reads only its first bytes.
constexpr TileConfig kConfig = eight_whole_tiles();

void begin() { _tile_loadconfig(&kConfig); }

void end() { _tile_release(); }

// Tiles 0 to 3 hold the product's quarters, 4 and 5 the strip's halves, 6 and 7 the panel's halves.
void multiply(const Bfloat16Operands& operands, const Bfloat16Product& product) {
  const Index product_bytes = product.stride * static_cast<Index>(sizeof(float));
  float* const top = product.to;
  float* const bottom = product.to + kTileRows * product.stride;
  if (product.adds) {
    _tile_loadd(0, top, product_bytes);
    _tile_loadd(1, top + kTileRows, product_bytes);
    _tile_loadd(2, bottom, product_bytes);
    _tile_loadd(3, bottom + kTileRows, product_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const Index strip_bytes = operands.depth * static_cast<Index>(sizeof(Bfloat16Bits));
  const Index panel_bytes = operands.pair_stride * static_cast<Index>(sizeof(Bfloat16Bits));
  for (Index p = 0; p < operands.depth; p += kBfloat16Depth) {
    const Bfloat16Bits* panel = operands.panel + p / 2 * operands.pair_stride;
    _tile_loadd(4, operands.strip + p, strip_bytes);
    _tile_loadd(6, panel, panel_bytes);
    _tile_loadd(7, panel + operands.right, panel_bytes);
    _tile_loadd(5, operands.strip + kTileRows * operands.depth + p, strip_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, top, product_bytes);
  _tile_stored(1, top + kTileRows, product_bytes);
  _tile_stored(2, bottom, product_bytes);
  _tile_stored(3, bottom + kTileRows, product_bytes);
}

}  // namespace

const Bfloat16Tiles kAmxTiles = {.name = "AMX",
                                 .rows = kRows,
                                 .pack_panel = pack_panel,
                                 .pack_strip = pack_strip<kRows>,
                                 .begin = begin,
                                 .end = end,
                                 .multiply = multiply};

}  // namespace headlight::kernels
