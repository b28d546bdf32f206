#pragma once

#include "headlight/tensor/shape.h"

// The innermost parts of a float32 matrix product, on one thread: packing into panels, and the
// register tile that multiplies a strip of rows with a panel of columns. Compiled per instruction
// set like the loops of loops.h. The blocking follows Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
namespace headlight::kernels {

// A matrix [rows, columns] with any strides.
struct MatrixView {
  const float* data = nullptr;
  Index row_stride = 0;
  Index column_stride = 0;

  const float* at(Index row, Index column) const {
    return data + row * row_stride + column * column_stride;
  }
};

// What a register tile does to C [rows, columns]: C = alpha * A B + beta * C + bias.
struct TileUpdate {
  float* c = nullptr;
  Index c_stride = 0;
  float alpha = 1;
  float beta = 0;                 // 0: C is not read
  const float* bias = nullptr;    // [columns], added to every row
};

struct GemmTiles {
  bool fast;      // compiled for vectors that leave nothing to win with OpenBLAS
  Index rows;     // of a strip, at most
  Index columns;  // of a panel

  // Packs columns [0, width) of B [k, width], width <= columns, as panel [k, columns]; the missing
  // columns are 0.
  void (*pack_panel)(const MatrixView& b, Index k, Index width, float* panel);

  // Packs rows [0, height) of A [height, k], height <= rows, as strip [k, rows]. The strip needs
  // room for kStripSlack more elements, which are written to.
  void (*pack_strip)(const MatrixView& a, Index k, Index height, float* strip);

  // C [height, width] from A [height, k] and a panel [k, columns]. Every element is the sum over k
  // in order, whatever the height and width.
  void (*multiply)(const MatrixView& a, const float* panel, Index k, Index height, Index width,
                   const TileUpdate& update);
};

inline constexpr Index kStripSlack = 16;

const GemmTiles& gemm_tiles();

}  // namespace headlight::kernels
