#include <algorithm>

#include "headlight/tensor/storage.h"
#include "kernels/gemm/gemm_parts.h"

namespace headlight::kernels {
namespace {

// Depth at which a strip of A and a panel of B fit the first-level cache together.
constexpr Index kMaximumDepth = 384;
// Columns of B that are packed at a time; with kMaximumDepth rows they fit the second-level cache.
constexpr Index kBlockColumns = 768;
constexpr Index kPackedDepth = 48;  // rows of a transposed A or of B that are packed at a time

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

// Computes a part of C on one thread with its own scratch memory.
template <class T>
class Part {
 public:
  Part(const Gemm<T>& g, T* scratch)
      : g_(g), strips_(scratch), panels_(scratch + kStripGroup * strip_size()) {}

  // Returns the scratch memory of a part in elements.
  static Index scratch_size() {
    return kStripGroup * strip_size() +
           rounded_up(kBlockColumns, gemm_tiles<T>().columns) * kMaximumDepth;
  }

  void run(const GemmRegion& part) {
    const Index depth = depth_of(g_.k);
    for (Index column = 0; column < part.columns; column += kBlockColumns) {
      const Index columns = std::min(kBlockColumns, part.columns - column);
      for (Index k = 0; k < g_.k; k += depth) {
        multiply_block({part.row, part.rows, part.column + column, columns}, k,
                       std::min(depth, g_.k - k));
      }
    }
  }

 private:
  static Index strip_size() {
    return rounded_up(gemm_tiles<T>().rows * kMaximumDepth + kStripSlack, 16);
  }

  void multiply_block(const GemmRegion& block, Index first, Index k) {
    pack_panels(block, first, k);
    const Index group = kStripGroup * tiles_.rows;
    for (Index row = 0; row < block.rows; row += group) {
      const Index rows = std::min(group, block.rows - row);
      const GemmRegion group_region{block.row + row, rows, block.column, block.columns};
      multiply_group(group_region, first, k,
                     coming_rows(g_, group_region, std::min(group, block.rows - row - rows),
                                 {first, k}, {tiles_.rows, tiles_.columns}));
    }
  }

  void pack_panels(const GemmRegion& block, Index first, Index depth) {
    const MatrixView<T> b = view_b(g_);
    const Index step = g_.transpose_b ? depth : kPackedDepth;
    for (Index k = 0; k < depth; k += step) {
      for (Index column = 0; column < block.columns; column += tiles_.columns) {
        tiles_.pack_panel(b.from(first + k, block.column + column), std::min(step, depth - k),
                          std::min(tiles_.columns, block.columns - column),
                          panels_ + column * depth + k * tiles_.columns);
      }
    }
  }

  void multiply_group(const GemmRegion& group, Index first, Index k, ComingRows<T> coming) {
    const bool packs = packs_a(g_);
    const MatrixView<T> whole = view_a(g_).from(group.row, first);
    if (packs) {
      pack_group(whole, group.rows, k);
    }
    for (Index row = 0; row < group.rows; row += tiles_.rows) {
      const MatrixView<T> packed{strips_ + row / tiles_.rows * strip_size(), 1, tiles_.rows};
      const Index rows = std::min(tiles_.rows, group.rows - row);
      multiply_strip(packs ? packed : whole.from(row, 0),
                     {group.row + row, rows, group.column, group.columns}, {first, k}, coming);
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

  void multiply_strip(const MatrixView<T>& a, const GemmRegion& strip, const DepthRange& depth,
                      ComingRows<T>& coming) {
    const auto [first, k] = depth;
    const bool is_first = first == 0;
    for (Index column = 0; column < strip.columns; column += tiles_.columns) {
      coming.fetch();
      const Index offset = strip.column + column;
      tiles_.multiply(a, panels_ + column * k, k,
                      {strip.rows, std::min(tiles_.columns, strip.columns - column)},
                      {.c = g_.c + strip.row * g_.c_stride + offset,
                       .c_stride = g_.c_stride,
                       .alpha = g_.alpha,
                       .beta = is_first ? g_.beta : T{1},
                       .bias = is_first && g_.bias != nullptr ? g_.bias + offset : nullptr});
    }
    if (first + k == g_.k && g_.after) {
      g_.after(strip);
    }
  }

  const Gemm<T>& g_;
  const GemmTiles<T>& tiles_ = gemm_tiles<T>();
  T* strips_;  // [group, rows of a strip * depth]
  T* panels_;  // [block columns * depth]
};

}  // namespace

template <class T>
void tiled_gemm(const Gemm<T>& g) {
  const TileExtent tile{gemm_tiles<T>().rows, gemm_tiles<T>().columns};
  const GemmGrid grid = choose_grid(g, tile, max_threads());
  const Index size = Part<T>::scratch_size();
  Storage scratch(static_cast<std::size_t>(size * grid.count()) * sizeof(T));
  T* memory = static_cast<T*>(scratch.data());
  parallel_for(grid.count(), 1, [&](Index part, Index) {
    Part<T>(g, memory + part * size).run(grid.region(part, g.m, g.n));
  });
}

template void tiled_gemm(const Gemm<float>&);
template void tiled_gemm(const Gemm<double>&);

}  // namespace headlight::kernels
