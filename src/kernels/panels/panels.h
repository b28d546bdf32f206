#pragma once

#include "headlight/tensor/dtype.h"
#include "headlight/tensor/shape.h"

// The products of generation: a matrix of weights that lies ready in memory times one vector, or a
// few. They are bound by the speed of memory, so the weights are laid out as they are read.
namespace headlight::kernels {

// Rows of a matrix come in panels of 16, and inside a panel column by column: what is read next
// lies next, and a row's sum stays in its lane. The last panel is filled up with rows of zeros.
inline constexpr Index kPanelRows = 16;
// int8: so many weights of a row share a scale.
inline constexpr Index kScaleBlock = 32;

enum class PanelFormat {
  float32,   // [columns, 16] float
  bfloat16,  // [columns / 2, 16] words of two columns, the first one in the lower half
  int8,      // per 32 columns: 16 float scales, then [8, 16] words of columns 2 g, 16 + 2 g,
             // 2 g + 1 and 17 + 2 g, the lowest byte first
};

inline Index panel_count(Index rows) { return (rows + kPanelRows - 1) / kPanelRows; }

// Bytes of a panel, a multiple of 64.
Index panel_bytes(PanelFormat format, Index columns);

// Lays out weights [rows, columns] as a panel, rounded to nearest: bfloat16 with ties to even; int8
// as scale * q, |q| <= 127, the scale being the largest magnitude of 32 neighbours in a row / 127.
// rows <= 16; `panel` has panel_bytes() bytes on a boundary of 64.
void pack_panel(PanelFormat format, const float* weights, Index rows, Index columns, void* panel);

// What the packed weights of one row are worth, written over it.
void round_row(PanelFormat format, float* row, Index columns);

// y[b * y_stride + r] = sum over k of weight[r][k] x[b * x_stride + k], for the 16 rows r of every
// panel and `batch` vectors. With int8 weights x is rounded to 2^-15 of the largest of 32
// neighbours, so that whole numbers are multiplied. The bits of a vector's result do not depend on
// the others, on how many they are, nor on which panels are computed together.
struct PanelProduct {
  const void* panels = nullptr;  // of the first panel
  Index count = 0;               // panels
  Index panel_bytes = 0;
  Index columns = 0;
  const float* x = nullptr;  // [batch, columns]
  Index x_stride = 0;
  float* y = nullptr;  // [batch, 16 count]
  Index y_stride = 0;
  Index batch = 1;
};

struct DecodeLoops {
  void (*multiply_float32)(const PanelProduct& product);
  void (*multiply_bfloat16)(const PanelProduct& product);
  // weights[i] = exp((scores[i] - largest) / temperature), largest being the largest score; returns
  // the sum.
  double (*softmax_weights)(const double* scores, double largest, double temperature,
                            double* weights, Index n);
};

struct Int8Panels {
  void (*multiply)(const PanelProduct& product);
};

// Whether many vectors meet int8 panels sooner than float32 tiles: where the CPU adds up products
// of neighbouring whole numbers.
bool multiplies_int8_fast();

// Whether this machine's AVX-512 adds up products of whole numbers (VNNI).
bool has_vnni();

const DecodeLoops& decode_loops();

void multiply_panels(PanelFormat format, const PanelProduct& product);

}  // namespace headlight::kernels
