#include "kernels/tiled_gemm.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "headlight/tensor/storage.h"
#include "kernels/gemm_tile.h"
#include "kernels/parallel.h"

namespace headlight::kernels {
namespace {

// A strip of A and a panel of B this deep stay in the first-level cache together.
constexpr Index kMaximumDepth = 384;
// Columns of B that are packed at a time: kMaximumDepth of them fit the second-level cache.
constexpr Index kBlockColumns = 768;
// Strips of a transposed A that are packed together: their rows in memory are read in longer
// pieces.
constexpr Index kStripGroup = 8;
constexpr Index kPackedDepth = 48;  // rows of memory at a time

Index rounded_up(Index value, Index step) { return (value + step - 1) / step * step; }

// The summation is cut into equal parts.
Index depth_of(Index k) {
  const Index parts = chunk_count(k, kMaximumDepth);
  return rounded_up(chunk_count(k, parts), 16);
}

template <class T>
MatrixView<T> view_a(const Gemm<T>& g) {
  return g.transpose_a ? MatrixView<T>{g.a, 1, g.a_stride} : MatrixView<T>{g.a, g.a_stride, 1};
}

template <class T>
MatrixView<T> view_b(const Gemm<T>& g) {
  return g.transpose_b ? MatrixView<T>{g.b, 1, g.b_stride} : MatrixView<T>{g.b, g.b_stride, 1};
}

// Rows whose distance is a multiple of a page fall into one set of the first-level cache and push
// each other out; columns of a transposed matrix lie apart.
template <class T>
bool packs_a(const Gemm<T>& g) {
  constexpr Index kPageElements = 4096 / sizeof(T);
  return g.transpose_a || g.a_stride % kPageElements == 0;
}

struct Span {
  Index begin = 0;
  Index end = 0;
};

// A part of C, computed by one thread with scratch memory of its own.
template <class T>
class Part {
 public:
  Part(const Gemm<T>& g, Span rows, Span columns, T* scratch)
      : g_(g), rows_(rows), columns_(columns), strips_(scratch) {
    panels_ = strips_ + kStripGroup * strip_size();
  }

  // Elements.
  static Index scratch_size() {
    return kStripGroup * strip_size() +
           rounded_up(kBlockColumns, gemm_tiles<T>().columns) * kMaximumDepth;
  }

  void run() {
    const Index depth = depth_of(g_.k);
    for (Index column = columns_.begin; column < columns_.end; column += kBlockColumns) {
      const Span block{column, std::min(columns_.end, column + kBlockColumns)};
      for (Index k = 0; k < g_.k; k += depth) {
        multiply_block(block, {k, std::min(g_.k, k + depth)});
      }
    }
  }

 private:
  static Index strip_size() {
    return rounded_up(gemm_tiles<T>().rows * kMaximumDepth + kStripSlack, 16);
  }

  void multiply_block(Span columns, Span depth) {
    const Index k = depth.end - depth.begin;
    const MatrixView<T> b = view_b(g_);
    for (Index column = columns.begin; column < columns.end; column += tiles_.columns) {
      tiles_.pack_panel({b.at(depth.begin, column), b.row_stride, b.column_stride}, k,
                        std::min(tiles_.columns, columns.end - column),
                        panels_ + (column - columns.begin) * k);
    }
    const Index group = kStripGroup * tiles_.rows;
    for (Index row = rows_.begin; row < rows_.end; row += group) {
      multiply_group({row, std::min(rows_.end, row + group)}, columns, depth);
    }
  }

  void multiply_group(Span rows, Span columns, Span depth) {
    const bool packs = packs_a(g_);
    const MatrixView<T> whole = view_a(g_);
    if (packs) {
      pack_group({whole.at(rows.begin, depth.begin), whole.row_stride, whole.column_stride},
                 rows.end - rows.begin, depth.end - depth.begin);
    }
    for (Index row = rows.begin; row < rows.end; row += tiles_.rows) {
      const MatrixView<T> packed{strips_ + (row - rows.begin) / tiles_.rows * strip_size(), 1,
                                 tiles_.rows};
      const MatrixView<T> direct{whole.at(row, depth.begin), whole.row_stride, whole.column_stride};
      multiply_strip(packs ? packed : direct, {row, std::min(rows.end, row + tiles_.rows)}, columns,
                     depth);
    }
  }

  // Piece by piece, each strip's end overwritten by its next piece.
  void pack_group(const MatrixView<T>& a, Index rows, Index depth) {
    const Index step = g_.transpose_a ? kPackedDepth : depth;
    for (Index k = 0; k < depth; k += step) {
      for (Index row = 0; row < rows; row += tiles_.rows) {
        T* strip = strips_ + row / tiles_.rows * strip_size();
        tiles_.pack_strip({a.at(row, k), a.row_stride, a.column_stride}, std::min(step, depth - k),
                          std::min(tiles_.rows, rows - row), strip + k * tiles_.rows);
      }
    }
  }

  void multiply_strip(const MatrixView<T>& a, Span rows, Span columns, Span depth) {
    const Index k = depth.end - depth.begin;
    const Index height = rows.end - rows.begin;
    const bool first = depth.begin == 0;
    for (Index column = columns.begin; column < columns.end; column += tiles_.columns) {
      tiles_.multiply(a, panels_ + (column - columns.begin) * k, k,
                      {height, std::min(tiles_.columns, columns.end - column)},
                      {.c = g_.c + rows.begin * g_.c_stride + column,
                       .c_stride = g_.c_stride,
                       .alpha = g_.alpha,
                       .beta = first ? g_.beta : T{1},
                       .bias = first && g_.bias != nullptr ? g_.bias + column : nullptr});
    }
    if (depth.end == g_.k && g_.after) {
      g_.after({rows.begin, height, columns.begin, columns.end - columns.begin});
    }
  }

  const Gemm<T>& g_;
  const GemmTiles<T>& tiles_ = gemm_tiles<T>();
  Span rows_;
  Span columns_;
  T* strips_;  // [group, rows of a strip * depth]
  T* panels_;  // [block columns * depth]
};

struct Grid {
  Index rows = 1;     // parts down
  Index columns = 1;  // parts across
  Index part_rows = 0;
  Index part_columns = 0;
};

// Cuts C for the threads so that the longest part is shortest. A part's time is counted in
// multiply-add instructions; packing an element costs about as much as half of one. Rows of
// activations stay with the thread that works on them before and after: its cache holds them.
template <class T>
Grid choose_grid(const Gemm<T>& g, Index threads) {
  const GemmTiles<T>& tiles = gemm_tiles<T>();
  constexpr double kPackCost = 0.5;
  Grid best;
  double best_cost = std::numeric_limits<double>::infinity();
  const bool by_rows = !g.transpose_a && g.m >= 2 * tiles.rows * threads;
  for (Index columns = 1; columns <= (by_rows ? 1 : threads); ++columns) {
    const Index rows = chunk_count(threads, columns);
    Grid grid;
    grid.part_rows = rounded_up(chunk_count(g.m, rows), tiles.rows);
    grid.part_columns = rounded_up(chunk_count(g.n, columns), tiles.columns);
    grid.rows = chunk_count(g.m, grid.part_rows);
    grid.columns = chunk_count(g.n, grid.part_columns);
    const double lanes = static_cast<double>(tiles.columns) / 2;
    const double height = static_cast<double>(grid.part_rows);
    const double width = static_cast<double>(grid.part_columns);
    const double cost = height * width / lanes + kPackCost * (width + (packs_a(g) ? height : 0));
    if (cost < best_cost) {
      best_cost = cost;
      best = grid;
    }
  }
  return best;
}

}  // namespace

template <class T>
void tiled_gemm_on_this_thread(const Gemm<T>& g) {
  Storage scratch(static_cast<std::size_t>(Part<T>::scratch_size()) * sizeof(T));
  Part<T>(g, {0, g.m}, {0, g.n}, static_cast<T*>(scratch.data())).run();
}

template <class T>
void tiled_gemm(const Gemm<T>& g) {
  const Grid grid = choose_grid(g, max_threads());
  const Index size = Part<T>::scratch_size();
  const Index parts = grid.rows * grid.columns;
  Storage scratch(static_cast<std::size_t>(size * parts) * sizeof(T));
  T* memory = static_cast<T*>(scratch.data());
  parallel_for(parts, 1, [&](Index part, Index) {
    const Index row = part / grid.columns * grid.part_rows;
    const Index column = part % grid.columns * grid.part_columns;
    Part<T>(g, {row, std::min(g.m, row + grid.part_rows)},
            {column, std::min(g.n, column + grid.part_columns)}, memory + part * size)
        .run();
  });
}

template void tiled_gemm(const Gemm<float>&);
template void tiled_gemm(const Gemm<double>&);
template void tiled_gemm_on_this_thread(const Gemm<float>&);
template void tiled_gemm_on_this_thread(const Gemm<double>&);

}  // namespace headlight::kernels
