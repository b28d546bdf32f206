#pragma once

#include "kernels/attention/attention_tile.h"

// Attention's matrix products, over one of two kinds of tiles: RegisterTiles, or
// Bfloat16AttentionTiles (bfloat16/attention_tiles.h). Each kind has
//   Real     element type of inputs and outputs
//   Set      the compiled functions; enough to compute sizes
//   Panels   a right-hand operand [depth, width], packed once for many products
//   strip()  prepares a left-hand operand [height, depth] of at most rows() rows
//   first_row()  first row of a product that needs the panels' rows from a given one on
//   multiply()  C = alpha * strip panel + beta * C, beta 0 or 1; may omit alpha
//   scale_rows()  multiplies C by alpha if multiply() omitted it
namespace headlight::kernels {

// The register tiles of gemm_tile.h, which read left-hand operands in place.
template <class T>
class RegisterTiles {
 public:
  using Real = T;
  using Set = GemmTiles<T>;

  struct Panels {
    const T* data = nullptr;
    Index depth = 0;
    Index width = 0;
    Index columns = 0;  // columns per panel

    // Returns the panel that starts at column `column`, from row `row` on.
    const T* at(Index row, Index column) const { return data + column * depth + row * columns; }
  };

  struct Strip {
    MatrixView<T> elements;  // [height, depth]
    Index height = 0;
    Index depth = 0;
  };

  RegisterTiles(const Set& set, T*) : set_(set) {}

  // Elements of scratch memory for the constructor, for strips of at most `depth` columns.
  static Index scratch_size(const Set&, Index) { return 0; }
  // Queries per tile: whole strips for every instruction set but one.
  static Index query_tile(const Set&) { return 56; }
  // Elements of a packed operand [depth, width].
  static Index panels_size(const Set& set, Index depth, Index width) {
    return rounded_up(width, set.columns) * depth;
  }

  Index rows() const { return set_.rows; }
  Index columns() const { return set_.columns; }

  Index first_row(Index needed) const { return needed; }

  Panels pack_panels(const MatrixView<T>& from, Index depth, Index width, T* to) const {
    for (Index column = 0; column < width; column += set_.columns) {
      set_.pack_panel(from.from(0, column), depth, std::min(set_.columns, width - column),
                      to + column * depth);
    }
    return {to, depth, width, set_.columns};
  }

  Strip strip(const MatrixView<T>& from, Index height, Index depth) const {
    return {from, height, depth};
  }

  void multiply(const Strip& strip, const T* panel, Index width,
                const TileUpdate<T>& update) const {
    set_.multiply(strip.elements, panel, strip.depth, {strip.height, width}, update);
  }

  void scale_rows(const TileUpdate<T>&, const TileExtent&) const {}

 private:
  const Set& set_;
};

// Calls body(first row, rows, keys) for the strips of a tile's queries. `keys` is the number of the
// tile's keys that the strip's last query sees; strips with none are skipped.
template <class T, class Body>
void for_strips(const AttentionHead<T>& head, const AttentionTile& tile, Index height,
                const Body& body) {
  for (Index row = 0; row < tile.rows; row += height) {
    const Index rows = std::min(height, tile.rows - row);
    const Index keys = visible_columns(head, tile, row + rows - 1);
    if (keys > 0) {
      body(row, rows, keys);
    }
  }
}

// Matrix products of one head.
template <class Tiles>
class AttentionProducts {
 public:
  using T = typename Tiles::Real;
  using Panels = typename Tiles::Panels;

  AttentionProducts(const AttentionHead<T>& head, const Tiles& tiles)
      : head_(head), tiles_(tiles) {}

  // c [rows, keys] = alpha * a [rows, D] b, for the keys that the tile's queries see. b is packed
  // [D, S]. Also writes c beyond a row's own keys: up to whole panels of its strip's keys.
  void query_key(const AttentionTile& tile, const MatrixView<T>& a, const Panels& b,
                 const TileUpdate<T>& update) const {
    for_strips(head_, tile, tiles_.rows(), [&](Index row, Index rows, Index keys) {
      const auto strip = tiles_.strip(a.from(row, 0), rows, b.depth);
      TileUpdate<T> part = update;
      for (Index key = 0; key < keys; key += tiles_.columns()) {
        part.c = update.c + row * update.c_stride + key;
        tiles_.multiply(strip, b.at(0, tile.key + key), tiles_.columns(), part);
      }
      part.c = update.c + row * update.c_stride;
      tiles_.scale_rows(part, {rows, keys});
    });
  }

  // c [rows, D] = a [rows, keys] b + beta * c. Rows of a are 0 beyond their visible keys. b is
  // packed [S, D].
  void weighted_sum(const AttentionTile& tile, const MatrixView<T>& a, const Panels& b,
                    const TileUpdate<T>& update) const {
    for_strips(head_, tile, tiles_.rows(), [&](Index row, Index rows, Index keys) {
      const auto strip = tiles_.strip(a.from(row, 0), rows, keys);
      multiply_across(strip, tile.key, b, row, update);
    });
  }

  // c [keys, D] += a^T b, where a [rows, keys] is 0 if a query does not see a key. Each strip of
  // keys skips the queries before the first one that sees any of its keys. b is packed [rows, D].
  void add_to_keys(const AttentionTile& tile, const MatrixView<T>& a, const Panels& b,
                   const TileUpdate<T>& update) const {
    for (Index key = 0; key < tile.columns; key += tiles_.rows()) {
      // The first query that sees any of these keys, or the first query of its strip.
      const Index seeing = std::max<Index>(0, tile.key + key + 1 - head_.visible(tile.query));
      const Index row = tiles_.first_row(seeing);
      const MatrixView<T> transposed{a.at(row, key), a.column_stride, a.row_stride};
      const auto strip =
          tiles_.strip(transposed, std::min(tiles_.rows(), tile.columns - key), tile.rows - row);
      multiply_across(strip, row, b, key, update);
    }
  }

 private:
  // Multiplies the strip [height, depth] by rows [first, first + depth) of b, for all columns of b.
  // Stores the product in rows [row, row + height) of update.c, as TileUpdate says.
  void multiply_across(const typename Tiles::Strip& strip, Index first, const Panels& b, Index row,
                       const TileUpdate<T>& update) const {
    TileUpdate<T> part = update;
    for (Index column = 0; column < b.width; column += tiles_.columns()) {
      part.c = update.c + row * update.c_stride + column;
      tiles_.multiply(strip, b.at(first, column), std::min(tiles_.columns(), b.width - column),
                      part);
    }
  }

  const AttentionHead<T>& head_;
  const Tiles& tiles_;
};

}  // namespace headlight::kernels
