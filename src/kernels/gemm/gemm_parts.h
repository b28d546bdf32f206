#pragma once

#include <algorithm>
#include <limits>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/parallel.h"

// Views and partitions of a product for the implementations with packed tiles.
namespace headlight::kernels {

template <class T>
MatrixView<T> view_a(const Gemm<T>& g) {
  return g.transpose_a ? MatrixView<T>{g.a, 1, g.a_stride} : MatrixView<T>{g.a, g.a_stride, 1};
}

template <class T>
MatrixView<T> view_b(const Gemm<T>& g) {
  return g.transpose_b ? MatrixView<T>{g.b, 1, g.b_stride} : MatrixView<T>{g.b, g.b_stride, 1};
}

// C divided into equal parts of whole tiles.
struct GemmGrid {
  Index rows = 1;     // parts down
  Index columns = 1;  // parts across
  Index part_rows = 0;
  Index part_columns = 0;

  Index count() const { return rows * columns; }
  // Returns part `index` of C [m, n].
  GemmRegion region(Index index, Index m, Index n) const {
    const Index row = index / columns * part_rows;
    const Index column = index % columns * part_columns;
    return {row, std::min(part_rows, m - row), column, std::min(part_columns, n - column)};
  }
};

// Divides C among the threads so that the most expensive part costs least. Cost unit: a tile's
// multiply-adds; packing one element costs half a unit. If there are enough rows to pay for packing
// all of B on every thread, the cut is by rows: a thread then keeps the rows of activations that
// its cache already holds.
template <class T>
GemmGrid choose_grid(const Gemm<T>& g, const TileExtent& tile, Index threads) {
  constexpr double kPackCost = 0.5;
  GemmGrid best;
  double best_cost = std::numeric_limits<double>::infinity();
  const bool by_rows = !g.transpose_a && g.m >= 2 * tile.height * threads && 2 * g.m >= g.n;
  for (Index columns = 1; columns <= (by_rows ? 1 : threads); ++columns) {
    GemmGrid grid;
    grid.part_rows = rounded_up(chunk_count(g.m, chunk_count(threads, columns)), tile.height);
    grid.part_columns = rounded_up(chunk_count(g.n, columns), tile.width);
    grid.rows = chunk_count(g.m, grid.part_rows);
    grid.columns = chunk_count(g.n, grid.part_columns);
    const double lanes = static_cast<double>(tile.width) / 2;
    const double height = static_cast<double>(grid.part_rows);
    const double width = static_cast<double>(grid.part_columns);
    const double cost = height * width / lanes + kPackCost * (width + (g.transpose_a ? height : 0));
    if (cost < best_cost) {
      best_cost = cost;
      best = grid;
    }
  }
  return best;
}

// Same contract as gemm(), by the register tiles of gemm_tile.h. The order of each element's sum
// depends on k alone, so the work may be divided among threads in any way.
template <class T>
void tiled_gemm(const Gemm<T>& product);

}  // namespace headlight::kernels
