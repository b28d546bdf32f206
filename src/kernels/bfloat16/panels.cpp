#include <algorithm>

#include "kernels/bfloat16/tiles.h"
#include "kernels/panels/panels.h"

namespace headlight::kernels {
namespace {

// The largest tile, of AMX.
constexpr Index kMostStripRows = 32;

// Copies the rows and columns of a product that y has.
void copy_part(const float* tile, Index rows, Index columns, float* y, Index y_stride) {
  for (Index row = 0; row < rows; ++row) {
    std::copy_n(tile + row * kBfloat16Columns, columns, y + row * y_stride);
  }
}

}  // namespace

void multiply_strips(const PanelProduct& product, const Bfloat16Bits* strips,
                     const Bfloat16Tiles& tiles) {
  const auto panel_elements = product.panel_bytes / static_cast<Index>(sizeof(Bfloat16Bits));
  tiles.begin();
  for (Index i = 0; i < product.count; i += 2) {
    const bool has_two = i + 1 < product.count;
    Bfloat16Operands operands{
        .panel = static_cast<const Bfloat16Bits*>(product.panels) + i * panel_elements,
        .depth = product.columns,
        .right = has_two ? panel_elements : 0,
        .pair_stride = 2 * kPanelRows};
    for (Index row = 0; row < product.batch; row += tiles.rows) {
      operands.strip = strips + row * product.columns;
      float* y = product.y + row * product.y_stride + i * kPanelRows;
      const Index rows = std::min(tiles.rows, product.batch - row);
      if (has_two && rows == tiles.rows) {
        tiles.multiply(operands, {y, product.y_stride, false});
      } else {
        float tile[kMostStripRows * kBfloat16Columns];
        tiles.multiply(operands, {tile, kBfloat16Columns, false});
        copy_part(tile, rows, has_two ? kBfloat16Columns : kPanelRows, y, product.y_stride);
      }
    }
  }
  tiles.end();
}

}  // namespace headlight::kernels
