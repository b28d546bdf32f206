#pragma once

#include <cassert>

#include "kernels/attention/attention_tile.h"
#include "kernels/bfloat16/tiles.h"

namespace headlight::kernels {

// Attention's products by bfloat16 tiles; see attention_products.h. Packing rounds the operands;
// sums are float32. An object belongs to one thread; it calls begin() and end() of the tile set.
class Bfloat16AttentionTiles {
 public:
  using Real = float;
  using Set = Bfloat16Tiles;

  struct Panels {
    const Bfloat16Bits* data = nullptr;
    Index depth = 0;
    Index width = 0;
    Index stored_depth = 0;

    // Returns the panel that starts at column `column`, from row `row` on.
    const Bfloat16Bits* at(Index row, Index column) const {
      return data + column * stored_depth + row * kBfloat16Columns;
    }
  };

  struct Strip {
    Index height = 0;
    Index depth = 0;  // as packed
  };

  Bfloat16AttentionTiles(const Set& set, float* scratch)
      : set_(set),
        product_(scratch),
        strip_(reinterpret_cast<Bfloat16Bits*>(product_ + set.rows * kBfloat16Columns)) {
    set_.begin();
  }
  ~Bfloat16AttentionTiles() { set_.end(); }
  Bfloat16AttentionTiles(const Bfloat16AttentionTiles&) = delete;
  Bfloat16AttentionTiles& operator=(const Bfloat16AttentionTiles&) = delete;

  // Sizes are in floats.
  static Index scratch_size(const Set& set, Index depth) {
    return set.rows * (kBfloat16Columns + packed_depth(depth) / 2);
  }
  static Index query_tile(const Set& set) { return kMaximumQueryTile / set.rows * set.rows; }
  static Index panels_size(const Set& set, Index depth, Index width) {
    return rounded_up(width, kBfloat16Columns) * stored_depth(set, depth) / 2;
  }

  Index rows() const { return set_.rows; }
  Index columns() const { return kBfloat16Columns; }
  // Panels store pairs of rows, so a product starts at the first row of a strip.
  Index first_row(Index needed) const { return needed / set_.rows * set_.rows; }

  Panels pack_panels(const MatrixView<float>& from, Index depth, Index width, float* to) const {
    auto* data = reinterpret_cast<Bfloat16Bits*>(to);
    const Panels panels{data, depth, width, stored_depth(set_, depth)};
    for (Index column = 0; column < width; column += kBfloat16Columns) {
      Bfloat16Bits* panel = data + column * panels.stored_depth;
      set_.pack_panel(from.from(0, column), depth, std::min(kBfloat16Columns, width - column),
                      panel);
      std::fill(panel + packed_depth(depth) * kBfloat16Columns,
                panel + panels.stored_depth * kBfloat16Columns, Bfloat16Bits{0});
    }
    return panels;
  }

  // Packs a strip; it is valid until the next one is packed.
  Strip strip(const MatrixView<float>& from, Index height, Index depth) const {
    set_.pack_strip(from, depth, height, packed_depth(depth), strip_);
    return {height, packed_depth(depth)};
  }

  void multiply(const Strip& strip, const Bfloat16Bits* panel, Index width,
                const TileUpdate<float>& update) const {
    assert(update.beta == 0.0F || update.beta == 1.0F);
    const Bfloat16Operands operands{strip_, panel, strip.depth};
    if (strip.height == set_.rows && width == kBfloat16Columns) {
      set_.multiply(operands, {update.c, update.c_stride, update.beta == 1.0F});
      return;
    }
    set_.multiply(operands, {product_, kBfloat16Columns, false});
    for (Index row = 0; row < strip.height; ++row) {
      const float* from = product_ + row * kBfloat16Columns;
      float* to = update.c + row * update.c_stride;
      if (update.beta == 0.0F) {
        std::copy_n(from, width, to);
      } else {
        loops<float>().add(from, to, to, width);
      }
    }
  }

  void scale_rows(const TileUpdate<float>& update, const TileExtent& extent) const {
    for (Index row = 0; row < extent.height && update.alpha != 1.0F; ++row) {
      loops<float>().scale(update.alpha, update.c + row * update.c_stride, extent.width);
    }
  }

 private:
  // Depth of a stored panel. A product that starts at a later row rounds its depth up from there,
  // so the panel ends with enough rows of zeros.
  static Index stored_depth(const Set& set, Index depth) {
    return packed_depth(set.rows % kBfloat16Depth == 0 ? depth : depth + kBfloat16Depth - 1);
  }

  const Set& set_;
  float* product_;       // [rows, columns]
  Bfloat16Bits* strip_;  // [rows, depth]
};

}  // namespace headlight::kernels
