#pragma once

#include "headlight/tensor/shape.h"

// The innermost parts of a matrix product, on one thread: packing into panels, and the
// register tile that multiplies a strip of rows with a panel of columns. Compiled per instruction
// set like the loops of loops.h. The blocking follows Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
namespace headlight::kernels {

// A matrix [rows, columns] with any strides.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  Index row_stride = 0;
  Index column_stride = 0;

  const T* at(Index row, Index column) const {
    return data + row * row_stride + column * column_stride;
  }
  // What lies from there on.
  MatrixView from(Index row, Index column) const {
    return {at(row, column), row_stride, column_stride};
  }
};

// What a register tile does to C [rows, columns]: C = alpha * A B + beta * C + bias.
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
  bool fast;      // compiled for vectors that leave nothing to win with OpenBLAS
  Index rows;     // of a strip, at most
  Index columns;  // of a panel

  // Packs columns [0, width) of B [k, width], width <= columns, as panel [k, columns]; the missing
  // columns are 0.
  void (*pack_panel)(const MatrixView<T>& b, Index k, Index width, T* panel);

  // Packs rows [0, height) of A [height, k], height <= rows, as strip [k, rows]. The strip needs
  // room for kStripSlack more elements, which are written to.
  void (*pack_strip)(const MatrixView<T>& a, Index k, Index height, T* strip);

  // C [height, width] from A [height, k] and a panel [k, columns]. Every element is the sum over k
  // in order, whatever the height and width.
  void (*multiply)(const MatrixView<T>& a, const T* panel, Index k, TileExtent extent,
                   const TileUpdate<T>& update);
};

inline constexpr Index kStripSlack = 16;

template <class T>
const GemmTiles<T>& gemm_tiles();

}  // namespace headlight::kernels
