#include <algorithm>
#include <cassert>

#include "headlight/tensor/storage.h"
#include "kernels/bfloat16/tiles.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_parts.h"
#include "kernels/threads/parallel.h"

namespace headlight::kernels {
namespace {

// Summation depth of a part, whose packed panels and strips fit the caches.
constexpr Index kBfloat16BlockDepth = 512;
constexpr Index kBfloat16BlockColumns = 768;

// Rows that are packed at a time, across all panels or strips, if memory has them one after the
// other.
constexpr Index kPackedRows = 2 * kBfloat16Depth;

// Computes a part of C on one thread with its own scratch memory.
class Bfloat16Part {
 public:
  Bfloat16Part(const Gemm<float>& g, const Bfloat16Tiles& tiles, void* scratch)
      : g_(g), tiles_(tiles), group_rows_((g.transpose_a ? kStripGroup : 1) * tiles.rows) {
    product_ = static_cast<float*>(scratch);
    strips_ = reinterpret_cast<Bfloat16Bits*>(product_ + tiles.rows * kBfloat16Columns);
    panels_ = strips_ + kStripGroup * tiles.rows * kBfloat16BlockDepth;
  }

  // Returns the scratch memory of a part in bytes.
  static Index scratch_size(const Bfloat16Tiles& tiles) {
    return tiles.rows * kBfloat16Columns * static_cast<Index>(sizeof(float)) +
           (kStripGroup * tiles.rows + kBfloat16BlockColumns) * kBfloat16BlockDepth *
               static_cast<Index>(sizeof(Bfloat16Bits));
  }

  void run(const GemmRegion& part) {
    tiles_.begin();
    for (Index column = 0; column < part.columns; column += kBfloat16BlockColumns) {
      const Index columns = std::min(kBfloat16BlockColumns, part.columns - column);
      for (Index k = 0; k < g_.k; k += kBfloat16BlockDepth) {
        multiply_block({part.row, part.rows, part.column + column, columns}, k,
                       std::min(kBfloat16BlockDepth, g_.k - k));
      }
    }
    tiles_.end();
  }

 private:
  void multiply_block(const GemmRegion& block, Index first, Index k) {
    pack_panels(block, first, k);
    for (Index row = 0; row < block.rows; row += group_rows_) {
      const Index rows = std::min(group_rows_, block.rows - row);
      const GemmRegion group{block.row + row, rows, block.column, block.columns};
      pack_strips(group, first, k);
      ComingRows<float> coming =
          coming_rows(g_, group, std::min(group_rows_, block.rows - row - rows), {first, k},
                      {tiles_.rows, kBfloat16Columns});
      for (Index strip = 0; strip < rows; strip += tiles_.rows) {
        multiply_strip(
            {group.row + strip, std::min(tiles_.rows, rows - strip), block.column, block.columns},
            strips_ + strip * packed_depth(k), first, k, coming);
      }
    }
  }

  void pack_panels(const GemmRegion& block, Index first, Index k) {
    const MatrixView<float> b = view_b(g_);
    const Index step = g_.transpose_b ? k : kPackedRows;
    for (Index p = 0; p < k; p += step) {
      for (Index column = 0; column < block.columns; column += kBfloat16Columns) {
        tiles_.pack_panel(b.from(first + p, block.column + column), std::min(step, k - p),
                          std::min(kBfloat16Columns, block.columns - column),
                          panels_ + column * packed_depth(k) + p * kBfloat16Columns);
      }
    }
  }

  void pack_strips(const GemmRegion& group, Index first, Index k) {
    const MatrixView<float> a = view_a(g_);
    const Index depth = packed_depth(k);
    const Index step = g_.transpose_a ? kPackedRows : k;
    for (Index p = 0; p < k; p += step) {
      for (Index row = 0; row < group.rows; row += tiles_.rows) {
        tiles_.pack_strip(a.from(group.row + row, first + p), std::min(step, k - p),
                          std::min(tiles_.rows, group.rows - row), depth,
                          strips_ + row * depth + p);
      }
    }
  }

  void multiply_strip(const GemmRegion& strip, const Bfloat16Bits* packed, Index first, Index k,
                      ComingRows<float>& coming) {
    for (Index column = 0; column < strip.columns; column += kBfloat16Columns) {
      coming.fetch();
      fetch_c({strip.row, strip.rows, strip.column + column + kBfloat16Columns, kBfloat16Columns},
              strip);
      multiply_tile({packed, panels_ + column * packed_depth(k), packed_depth(k)},
                    {strip.row, strip.rows, strip.column + column,
                     std::min(kBfloat16Columns, strip.columns - column)},
                    first == 0);
    }
    if (first + k == g_.k && g_.after) {
      g_.after(strip);
    }
  }

  // Asks for a tile of C if it is in the strip, so that it comes while the core multiplies the
  // previous one. Inlined, because GCC omits calls of functions that only prefetch.
  [[gnu::always_inline]] void fetch_c(const GemmRegion& tile, const GemmRegion& strip) const {
    constexpr Index kLine = 64 / sizeof(float);
    if (tile.column >= strip.column + strip.columns) {
      return;
    }
    for (Index row = 0; row < tile.rows; ++row) {
      const float* c = g_.c + (tile.row + row) * g_.c_stride + tile.column;
      __builtin_prefetch(c, 1);
      __builtin_prefetch(c + kLine, 1);
    }
  }

  // Writes tiles that need at most an addition straight to C, partial ones with a detour: each
  // element then has the same bits in both.
  void multiply_tile(const Bfloat16Operands& operands, const GemmRegion& tile, bool is_first) {
    const float beta = is_first ? g_.beta : 1.0F;
    const bool has_bias = is_first && g_.bias != nullptr;
    if (g_.alpha != 1.0F || has_bias || (beta != 0.0F && beta != 1.0F)) {
      tiles_.multiply(operands, {product_, kBfloat16Columns, false});
      store(tile, is_first);
      return;
    }
    float* to = g_.c + tile.row * g_.c_stride + tile.column;
    if (tile.rows == tiles_.rows && tile.columns == kBfloat16Columns) {
      tiles_.multiply(operands, {to, g_.c_stride, beta == 1.0F});
      return;
    }
    for (Index row = 0; row < tile.rows && beta == 1.0F; ++row) {
      std::copy_n(to + row * g_.c_stride, tile.columns, product_ + row * kBfloat16Columns);
    }
    tiles_.multiply(operands, {product_, kBfloat16Columns, beta == 1.0F});
    for (Index row = 0; row < tile.rows; ++row) {
      std::copy_n(product_ + row * kBfloat16Columns, tile.columns, to + row * g_.c_stride);
    }
  }

  // C = alpha * product + beta * C + bias for the first part of the summation, C += alpha * product
  // for the later ones.
  void store(const GemmRegion& tile, bool is_first) const {
    const float beta = is_first ? g_.beta : 1.0F;
    for (Index row = 0; row < tile.rows; ++row) {
      const float* from = product_ + row * kBfloat16Columns;
      float* to = g_.c + (tile.row + row) * g_.c_stride + tile.column;
      if (beta == 0.0F && g_.bias == nullptr) {
        for (Index i = 0; i < tile.columns; ++i) {
          to[i] = g_.alpha * from[i];
        }
        continue;
      }
      for (Index i = 0; i < tile.columns; ++i) {
        const float before = beta == 0.0F ? 0.0F : beta * to[i];
        const float offset = is_first && g_.bias != nullptr ? g_.bias[tile.column + i] : 0.0F;
        to[i] = g_.alpha * from[i] + before + offset;
      }
    }
  }

  const Gemm<float>& g_;
  const Bfloat16Tiles& tiles_;
  Index group_rows_;      // of strips that are packed together
  float* product_;        // [rows of a strip, columns of a panel]
  Bfloat16Bits* strips_;  // [rows of a group, depth]
  Bfloat16Bits* panels_;  // [columns of a block, depth]
};

}  // namespace

std::string_view bfloat16_instructions() {
  const Bfloat16Tiles* tiles = bfloat16_tiles();
  return tiles == nullptr ? std::string_view() : tiles->name;
}

void bfloat16_gemm(const Gemm<float>& g) {
  assert(bfloat16_tiles() != nullptr);
  bfloat16_gemm(g, *bfloat16_tiles());
}

void bfloat16_gemm(const Gemm<float>& g, const Bfloat16Tiles& tiles) {
  const TileExtent tile{tiles.rows, kBfloat16Columns};
  const GemmGrid grid = choose_grid(g, tile, max_threads());
  const Index size = Bfloat16Part::scratch_size(tiles);
  Storage scratch(static_cast<std::size_t>(size * grid.count()));
  parallel_for(grid.count(), 1, [&](Index part, Index) {
    Bfloat16Part(g, tiles, static_cast<char*>(scratch.data()) + part * size)
        .run(grid.region(part, g.m, g.n));
  });
}

}  // namespace headlight::kernels
