#pragma once

#include <cstdint>

#include "headlight/kernels/precision.h"
#include "headlight/tensor/dtype.h"
#include "headlight/tensor/shape.h"
#include "kernels/panels/integer_panels.h"

// Products of decoding: a packed weight matrix times one vector or a few. Memory speed limits them,
// so the weights are stored in the order in which they are read.
namespace headlight::kernels {

// A panel holds 16 rows of a matrix, column by column. Memory is read in order, and a row's sum
// stays in its lane. The last panel is padded with rows of zeros. Layouts:
//   float32   [columns, 16] float
//   bfloat16  [columns / 2, 16] words of two columns, the first one in the lower half
//   integers  as in IntegerLayout
inline constexpr Index kPanelRows = 16;

// The number format of a panel.
struct PanelLayout {
  PanelLayout(WeightFormat of = WeightFormat::float32)  // NOLINT: a format is a layout
      : format(of), integers(int8_layout()) {}
  explicit PanelLayout(const IntegerLayout& layout)
      : format(WeightFormat::int8), integers(layout) {}

  bool operator==(const PanelLayout&) const = default;

  WeightFormat format;     // int8 for all integers
  IntegerLayout integers;  // for int8
};

inline Index panel_count(Index rows) { return (rows + kPanelRows - 1) / kPanelRows; }

// Bytes of a panel, a multiple of 64.
Index panel_bytes(const PanelLayout& layout, Index columns);

// Packs weights [rows, columns] into the lanes of a panel from `lane` on, rounded to nearest.
// bfloat16: ties to even. int8: scale * q, |q| <= 127; scale = largest magnitude of 32 consecutive
// weights of a row / 127. lane + rows <= 16. `panel` has panel_bytes() bytes, all 0 before the
// first call, and is aligned to 64 bytes.
void pack_panel(WeightFormat format, const float* weights, Index rows, Index columns, Index lane,
                void* panel);
// Packs weights into a panel of bfloat16 as they are.
void pack_panel(const BFloat16* weights, Index rows, Index columns, Index lane, void* panel);

// Writes the weights [rows, columns] that a panel represents.
void unpack_panel(const PanelLayout& layout, const void* panel, Index rows, Index columns,
                  float* weights);
// Writes one row, `lane`, of a panel.
void unpack_row(const PanelLayout& layout, const void* panel, Index lane, Index columns,
                float* row);

// Replaces a row by the values that its packed weights represent.
void round_row(WeightFormat format, float* row, Index columns);

// y[b * y_stride + r] = sum over k of weight[r][k] x[b * x_stride + k], for all rows r of the
// panels and `batch` vectors. Panels of integers multiply integers: x is rounded to 2^-15 of the
// largest of 32 neighbours. The bits of one vector's result depend neither on the other vectors nor
// on which panels are computed together.
struct PanelProduct {
  const void* panels = nullptr;  // the first panel
  Index count = 0;               // number of panels
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
  // weights[i] = exp((scores[i] - largest) / temperature), where `largest` is the largest score.
  // Returns the sum of the weights.
  double (*softmax_weights)(const double* scores, double largest, double temperature,
                            double* weights, Index n);
  // Returns the first index of the largest score; -1 if one is NaN or infinity, or all are minus
  // infinity.
  Index (*likeliest)(const float* scores, Index n);
  // Rounds to binary16, as float_to_half(), and back.
  void (*to_float16)(const float* x, std::uint16_t* y, Index n);
  void (*from_float16)(const std::uint16_t* x, float* y, Index n);
};

// Returns whether panels of integers are faster than float32 tiles for many vectors: true for
// architectures whose CPUs, except old ones, add up products of adjacent integers. All CPUs of an
// architecture compute in the same way, with the same bits.
bool multiplies_int8_fast();

// Returns whether the variant in use has instructions that add up products of integers: AVX-512
// VNNI, or dotprod of ARM.
bool has_dot_products();

const DecodeLoops& decode_loops();

void multiply_panels(const PanelLayout& layout, const PanelProduct& product);

}  // namespace headlight::kernels
