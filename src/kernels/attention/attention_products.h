#pragma once

#include "kernels/attention/attention_tile.h"

// Attention's products, over tiles of one of three kinds: RegisterTiles, BlasAttentionTiles of
// blas_attention_tiles.h, and Bfloat16AttentionTiles of bfloat16/attention_tiles.h. A kind of tiles
// has
//   Real     what goes in and comes out
//   Set      the compiled functions; size questions can be asked with it alone
//   Panels   a right-hand operand [depth, width], packed once for many products
//   strip()  makes a left-hand operand [height, depth] of at most rows() rows ready for products
//   written()  how many columns of C a product writes when so many are wanted
//   first_row()  where a product may start that only needs the panels' rows from a given one on
//   multiply()  C = alpha * strip panel + beta * C, where beta is 0 or 1; what it leaves of alpha
//               is left to scale_rows()
namespace headlight::kernels {

// The register tiles of gemm_tile.h, which read left-hand operands where they lie.
template <class T>
class RegisterTiles {
 public:
  using Real = T;
  using Set = GemmTiles<T>;

  struct Panels {
    const T* data = nullptr;
    Index depth = 0;
    Index width = 0;
    Index columns = 0;  // of a panel

    // The panel that starts with column `column`, from row `row` on.
    const T* at(Index row, Index column) const { return data + column * depth + row * columns; }
  };

  struct Strip {
    MatrixView<T> elements;  // [height, depth]
    Index height = 0;
    Index depth = 0;
  };

  RegisterTiles(const Set& set, T*) : set_(set) {}

  // Elements of memory that the constructor is given, for strips of so many columns at most.
  static Index scratch_size(const Set&, Index) { return 0; }
  // Queries of a tile: whole strips of every instruction set but one.
  static Index query_tile(const Set&) { return 56; }
  // Elements for a packed operand of this size.
  static Index panels_size(const Set& set, Index depth, Index width) {
    return rounded_up(width, set.columns) * depth;
  }

  Index rows() const { return set_.rows; }
  Index columns() const { return set_.columns; }

  Index written(Index) const { return set_.columns; }
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

// Calls body(first row, rows, keys) for the strips of a tile's queries; keys is how many of the
// tile's keys the last query of the strip sees. Strips that see none are left out.
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

// The products of one head.
template <class Tiles>
class AttentionProducts {
 public:
  using T = typename Tiles::Real;
  using Panels = typename Tiles::Panels;

  AttentionProducts(const AttentionHead<T>& head, const Tiles& tiles)
      : head_(head), tiles_(tiles) {}

  // c [rows, keys] = alpha * a [rows, D] b, for the keys of the tile that are seen: c is written
  // beyond a row's keys as well, to those of its strip and, with panels, to whole ones. b is packed
  // [D, S].
  void query_key(const AttentionTile& tile, const MatrixView<T>& a, const Panels& b,
                 const TileUpdate<T>& update) const {
    for_strips(head_, tile, tiles_.rows(), [&](Index row, Index rows, Index keys) {
      const auto strip = tiles_.strip(a.from(row, 0), rows, b.depth);
      TileUpdate<T> part = update;
      for (Index key = 0; key < keys; key += tiles_.columns()) {
        part.c = update.c + row * update.c_stride + key;
        tiles_.multiply(strip, b.at(0, tile.key + key), tiles_.written(keys - key), part);
      }
      part.c = update.c + row * update.c_stride;
      tiles_.scale_rows(part, {rows, keys});
    });
  }

  // c [rows, D] = a [rows, keys] b + beta * c, where rows of a are 0 beyond the keys that they see.
  // b is packed [S, D].
  void weighted_sum(const AttentionTile& tile, const MatrixView<T>& a, const Panels& b,
                    const TileUpdate<T>& update) const {
    for_strips(head_, tile, tiles_.rows(), [&](Index row, Index rows, Index keys) {
      const auto strip = tiles_.strip(a.from(row, 0), rows, keys);
      multiply_across(strip, tile.key, b, row, update);
    });
  }

  // c [keys, D] += a^T b for a [rows, keys] that is 0 where a query does not see a key, as far as
  // the strip of queries goes that sees the first of a strip of keys. b is packed [rows, D].
  void add_to_keys(const AttentionTile& tile, const MatrixView<T>& a, const Panels& b,
                   const TileUpdate<T>& update) const {
    for (Index key = 0; key < tile.columns; key += tiles_.rows()) {
      // The first query that sees any of these keys, or the first of its strip.
      const Index seeing = std::max<Index>(0, tile.key + key + 1 - head_.visible(tile.query));
      const Index row = tiles_.first_row(seeing);
      const MatrixView<T> transposed{a.at(row, key), a.column_stride, a.row_stride};
      const auto strip =
          tiles_.strip(transposed, std::min(tiles_.rows(), tile.columns - key), tile.rows - row);
      multiply_across(strip, row, b, key, update);
    }
  }

 private:
  // Rows [row, row + height) of update.c from the strip and all columns of b, from b's row
  // `first` on.
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
