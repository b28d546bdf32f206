#pragma once

#include "kernels/attention_tile.h"

// The products of attention's tiles, by the register tiles of gemm_tile.h.
namespace headlight::kernels {

// A right-hand operand [depth, width], packed into panels once for many products.
template <class T>
struct PackedPanels {
  const T* data = nullptr;
  Index depth = 0;
  Index width = 0;

  // Elements for an operand of this size.
  static Index size(Index depth, Index width) {
    const Index columns = gemm_tiles<T>().columns;
    return (width + columns - 1) / columns * columns * depth;
  }

  // The panel that starts with column `column`, from row `row` on.
  const T* at(Index row, Index column) const {
    return data + column * depth + row * gemm_tiles<T>().columns;
  }
};

template <class T>
PackedPanels<T> pack_panels(const MatrixView<T>& from, Index depth, Index width, T* to) {
  const GemmTiles<T>& tiles = gemm_tiles<T>();
  for (Index column = 0; column < width; column += tiles.columns) {
    tiles.pack_panel(from.from(0, column), depth, std::min(tiles.columns, width - column),
                     to + column * depth);
  }
  return {to, depth, width};
}

// Calls body(first row, rows, keys) for the strips of a tile's queries; keys is how many of the
// tile's keys the last query of the strip sees. Strips that see none are left out.
template <class T, class Body>
void for_strips(const AttentionHead<T>& head, const AttentionTile& tile, const Body& body) {
  const Index height = gemm_tiles<T>().rows;
  for (Index row = 0; row < tile.rows; row += height) {
    const Index rows = std::min(height, tile.rows - row);
    const Index keys = visible_columns(head, tile, row + rows - 1);
    if (keys > 0) {
      body(row, rows, keys);
    }
  }
}

// c [rows, keys] = alpha * a [rows, D] b, for the keys of the tile that are seen: whole panels of c
// are written, beyond a row's keys as well. b is packed [D, S].
template <class T>
void query_key_product(const AttentionHead<T>& head, const AttentionTile& tile,
                       const MatrixView<T>& a, const PackedPanels<T>& b,
                       const TileUpdate<T>& update) {
  const GemmTiles<T>& tiles = gemm_tiles<T>();
  for_strips(head, tile, [&](Index row, Index rows, Index keys) {
    TileUpdate<T> part = update;
    for (Index key = 0; key < keys; key += tiles.columns) {
      part.c = update.c + row * update.c_stride + key;
      tiles.multiply(a.from(row, 0), b.at(0, tile.key + key), b.depth, {rows, tiles.columns}, part);
    }
  });
}

// c [rows, D] = a [rows, keys] b + beta * c, where rows of a are 0 beyond the keys that they see. b
// is packed [S, D].
template <class T>
void weighted_sum(const AttentionHead<T>& head, const AttentionTile& tile, const MatrixView<T>& a,
                  const PackedPanels<T>& b, const TileUpdate<T>& update) {
  const GemmTiles<T>& tiles = gemm_tiles<T>();
  for_strips(head, tile, [&](Index row, Index rows, Index keys) {
    TileUpdate<T> part = update;
    for (Index column = 0; column < b.width; column += tiles.columns) {
      part.c = update.c + row * update.c_stride + column;
      tiles.multiply(a.from(row, 0), b.at(tile.key, column), keys,
                     {rows, std::min(tiles.columns, b.width - column)}, part);
    }
  });
}

// c [keys, D] += a^T b for a [rows, keys] that is 0 where a query does not see a key. b is packed
// [rows, D].
template <class T>
void add_to_keys(const AttentionHead<T>& head, const AttentionTile& tile, const MatrixView<T>& a,
                 const PackedPanels<T>& b, const TileUpdate<T>& update) {
  const GemmTiles<T>& tiles = gemm_tiles<T>();
  for (Index key = 0; key < tile.columns; key += tiles.rows) {
    // The first query that sees any of these keys.
    const Index row = std::max<Index>(0, tile.key + key + 1 - head.visible(tile.query));
    const MatrixView<T> transposed{a.at(row, key), a.column_stride, a.row_stride};
    TileUpdate<T> part = update;
    for (Index column = 0; column < b.width; column += tiles.columns) {
      part.c = update.c + key * update.c_stride + column;
      tiles.multiply(
          transposed, b.at(row, column), tile.rows - row,
          {std::min(tiles.rows, tile.columns - key), std::min(tiles.columns, b.width - column)},
          part);
    }
  }
}

}  // namespace headlight::kernels
