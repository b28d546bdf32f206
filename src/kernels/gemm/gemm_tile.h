#pragma once

#include "headlight/tensor/shape.h"

// The innermost parts of a matrix product on one thread: packing, and the register tile that
// multiplies a strip of rows by a panel of columns. Compiled once per instruction set, as the loops
// of loops.h. The blocking follows Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
namespace headlight::kernels {

// A matrix [rows, columns] with arbitrary strides.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  Index row_stride = 0;
  Index column_stride = 0;

  const T* at(Index row, Index column) const {
    return data + row * row_stride + column * column_stride;
  }
  // Returns the submatrix that starts at (row, column).
  MatrixView from(Index row, Index column) const {
    return {at(row, column), row_stride, column_stride};
  }
};

// The operation of one register tile on C [rows, columns]: C = alpha * A B + beta * C + bias.
template <class T>
struct TileUpdate {
  T* c = nullptr;
  Index c_stride = 0;
  T alpha = 1;
  T beta = 0;               // 0: C is not read
  const T* bias = nullptr;  // [columns], added to every row
};

struct TileExtent {
  Index height = 0;  // from 1 to the rows of a strip
  Index width = 0;   // from 1 to the columns of a panel
};

template <class T>
struct GemmTiles {
  bool fast;      // vectors are wide enough that OpenBLAS is not faster
  Index rows;     // maximum rows of a strip
  Index columns;  // columns per panel

  // Packs columns [0, width) of B [k, width], width <= columns, as panel [k, columns], padded with
  // columns of 0.
  void (*pack_panel)(const MatrixView<T>& b, Index k, Index width, T* panel);

  // Packs rows [0, height) of A [height, k], height <= rows, as strip [k, rows]. Overwrites up to
  // kStripSlack elements after the strip, so the buffer must have room for them.
  void (*pack_strip)(const MatrixView<T>& a, Index k, Index height, T* strip);

  // Computes C [height, width] from A [height, k] and a panel [k, columns]. Every element is summed
  // over k in order, for any height and width.
  void (*multiply)(const MatrixView<T>& a, const T* panel, Index k, TileExtent extent,
                   const TileUpdate<T>& update);
};

inline constexpr Index kStripSlack = 16;

template <class T>
const GemmTiles<T>& gemm_tiles();

}  // namespace headlight::kernels
