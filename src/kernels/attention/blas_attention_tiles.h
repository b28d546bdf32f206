#pragma once

#include <limits>

#include "kernels/attention/attention_tile.h"
#include "kernels/gemm/gemm.h"

namespace headlight::kernels {

// Attention's products by single-threaded BLAS calls; see attention_products.h. BLAS packs its
// operands, so they stay in place; each has stride 1 along one axis. A strip has all queries of a
// tile, and a product all keys that the strip sees.
template <class T>
class BlasAttentionTiles {
 public:
  using Real = T;
  struct Set {};

  struct Panels {
    MatrixView<T> elements;  // [depth, width]
    Index depth = 0;
    Index width = 0;

    MatrixView<T> at(Index row, Index column) const { return elements.from(row, column); }
  };

  struct Strip {
    MatrixView<T> elements;  // [height, depth]
    Index height = 0;
    Index depth = 0;
  };

  BlasAttentionTiles(const Set&, T*) {}

  static Index scratch_size(const Set&, Index) { return 0; }
  static Index query_tile(const Set&) { return kMaximumQueryTile; }
  static Index panels_size(const Set&, Index, Index) { return 0; }

  static Index rows() { return kMaximumQueryTile; }
  static Index columns() { return std::numeric_limits<Index>::max() / 2; }
  static Index written(Index wanted) { return wanted; }
  static Index first_row(Index needed) { return needed; }

  static Panels pack_panels(const MatrixView<T>& from, Index depth, Index width, T*) {
    return {from, depth, width};
  }
  static Strip strip(const MatrixView<T>& from, Index height, Index depth) {
    return {from, height, depth};
  }

  void multiply(const Strip& strip, const MatrixView<T>& panel, Index width,
                const TileUpdate<T>& update) const {
    const Operand a = operand(strip.elements, strip.height, strip.depth);
    const Operand b = operand(panel, strip.depth, width);
    openblas_on_this_thread<T>({.m = strip.height,
                                .n = width,
                                .k = strip.depth,
                                .a = strip.elements.data,
                                .a_stride = a.stride,
                                .transpose_a = a.transposed,
                                .b = panel.data,
                                .b_stride = b.stride,
                                .transpose_b = b.transposed,
                                .c = update.c,
                                .c_stride = update.c_stride,
                                .alpha = update.alpha,
                                .beta = update.beta});
  }

  void scale_rows(const TileUpdate<T>&, const TileExtent&) const {}

 private:
  struct Operand {
    Index stride;
    bool transposed;
  };

  // A single row or column may have any stride, but BLAS requires one that could hold a row.
  static Operand operand(const MatrixView<T>& view, Index rows, Index columns) {
    const bool by_rows = view.column_stride == 1 && (view.row_stride >= columns || rows == 1);
    return by_rows ? Operand{std::max(view.row_stride, columns), false}
                   : Operand{std::max(view.column_stride, rows), true};
  }
};

}  // namespace headlight::kernels
