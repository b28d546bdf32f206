#include <algorithm>

#include "headlight/tensor/storage.h"
#include "kernels/gemm/gemm_parts.h"

namespace headlight::kernels {
namespace {

// Depth at which a strip of A and a panel of B fit the first-level cache together.
constexpr Index kMaximumDepth = 384;
// Columns of B that are packed at a time; with kMaximumDepth rows they fit the second-level cache.
constexpr Index kBlockColumns = 768;
// Strips of a transposed A that are packed together, so that its rows are read in longer pieces.
constexpr Index kStripGroup = 8;
constexpr Index kPackedDepth = 48;  // rows of a transposed A that are packed at a time

// Returns the depth of one part: the summation is divided into equal parts.
Index depth_of(Index k) {
  const Index parts = chunk_count(k, kMaximumDepth);
  return rounded_up(chunk_count(k, parts), 16);
}

// Returns whether A needs packing. Rows whose distance is a multiple of a page share one set of the
// first-level cache and evict each other. Columns of a transposed A are not contiguous.
template <class T>
bool packs_a(const Gemm<T>& g) {
  constexpr Index kPageElements = 4096 / sizeof(T);
  return g.transpose_a || g.a_stride % kPageElements == 0;
}

struct Span {
  Index begin = 0;
  Index end = 0;
};

// Computes a part of C on one thread with its own scratch memory.
template <class T>
class Part {
 public:
  Part(const Gemm<T>& g, Span rows, Span columns, T* scratch)
      : g_(g), rows_(rows), columns_(columns), strips_(scratch) {
    panels_ = strips_ + kStripGroup * strip_size();
  }

  // Returns the scratch memory of a part in elements.
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
      tiles_.pack_panel(b.from(depth.begin, column), k,
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
      pack_group(whole.from(rows.begin, depth.begin), rows.end - rows.begin,
                 depth.end - depth.begin);
    }
    for (Index row = rows.begin; row < rows.end; row += tiles_.rows) {
      const MatrixView<T> packed{strips_ + (row - rows.begin) / tiles_.rows * strip_size(), 1,
                                 tiles_.rows};
      const MatrixView<T> direct = whole.from(row, depth.begin);
      multiply_strip(packs ? packed : direct, {row, std::min(rows.end, row + tiles_.rows)}, columns,
                     depth);
    }
  }

  // Packs piece by piece; a piece overwrites the slack that pack_strip wrote after the previous
  // one.
  void pack_group(const MatrixView<T>& a, Index rows, Index depth) {
    const Index step = g_.transpose_a ? kPackedDepth : depth;
    for (Index k = 0; k < depth; k += step) {
      for (Index row = 0; row < rows; row += tiles_.rows) {
        T* strip = strips_ + row / tiles_.rows * strip_size();
        tiles_.pack_strip(a.from(row, k), std::min(step, depth - k),
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

}  // namespace

template <class T>
void tiled_gemm_on_this_thread(const Gemm<T>& g) {
  Storage scratch(static_cast<std::size_t>(Part<T>::scratch_size()) * sizeof(T));
  Part<T>(g, {0, g.m}, {0, g.n}, static_cast<T*>(scratch.data())).run();
}

template <class T>
void tiled_gemm(const Gemm<T>& g) {
  const TileExtent tile{gemm_tiles<T>().rows, gemm_tiles<T>().columns};
  const GemmGrid grid = choose_grid(g, tile, max_threads());
  const Index size = Part<T>::scratch_size();
  Storage scratch(static_cast<std::size_t>(size * grid.count()) * sizeof(T));
  T* memory = static_cast<T*>(scratch.data());
  parallel_for(grid.count(), 1, [&](Index part, Index) {
    const GemmRegion region = grid.region(part, g.m, g.n);
    Part<T>(g, {region.row, region.row + region.rows},
            {region.column, region.column + region.columns}, memory + part * size)
        .run();
  });
}

template void tiled_gemm(const Gemm<float>&);
template void tiled_gemm(const Gemm<double>&);
template void tiled_gemm_on_this_thread(const Gemm<float>&);
template void tiled_gemm_on_this_thread(const Gemm<double>&);

}  // namespace headlight::kernels
