#pragma once

#include <algorithm>
#include <limits>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/threads/parallel.h"

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

// Strips of a transposed A that are packed together, so that its rows are read in longer pieces.
inline constexpr Index kStripGroup = 8;

// Rows of a matrix that the next products need. Each product asks for some of their cache lines, so
// that they come from memory while the core multiplies.
template <class T>
class ComingRows {
 public:
  // Rows [count, length], whose distance is `stride`. `products`: until they are needed.
  ComingRows(const T* data, Index count, Index length, Index stride, Index products)
      : row_(data + count * stride),
        rows_(count),
        lines_(chunk_count(length, kLine) + 1),
        stride_(stride),
        step_(chunk_count(count * lines_, products)) {}

  // Begins with the last line: the first ones are needed first and should be the newest.
  void fetch() {
    for (Index i = 0; i < step_; ++i) {
      if (line_ == 0) {
        if (rows_ == 0) {
          return;
        }
        --rows_;
        row_ -= stride_;
        line_ = lines_;
      }
      --line_;
      __builtin_prefetch(row_ + line_ * kLine, 0, 2);
    }
  }

 private:
  static constexpr Index kLine = 64 / sizeof(T);

  const T* row_;
  Index rows_;   // that are left
  Index lines_;  // of a row
  Index stride_;
  Index step_;      // lines for each product
  Index line_ = 0;  // that follows the next one in the row
};

// Smaller matrices are in the caches: their products are slower if they fetch.
inline constexpr Index kCachedElements = Index{1} << 19;

// Part of a summation.
struct DepthRange {
  Index first = 0;
  Index size = 0;
};

// Returns the `count` rows of op(A) that follow a group of rows of C, for one part of the
// summation; none if A is small.
template <class T>
ComingRows<T> coming_rows(const Gemm<T>& g, const GemmRegion& group, Index count,
                          const DepthRange& depth, const TileExtent& tile) {
  const Index products =
      chunk_count(group.rows, tile.height) * chunk_count(group.columns, tile.width);
  if (g.m * g.k < kCachedElements) {
    count = 0;
  }
  const T* data = view_a(g).at(group.row + group.rows, depth.first);
  return g.transpose_a
             ? ComingRows<T>(data, count > 0 ? depth.size : 0, count, g.a_stride, products)
             : ComingRows<T>(data, count, depth.size, g.a_stride, products);
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
