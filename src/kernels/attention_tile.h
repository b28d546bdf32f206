#pragma once

#include <algorithm>

#include "kernels/attention.h"
#include "kernels/gemm.h"

// The tile of scores that forward and backward have in common.
namespace headlight::kernels {

inline constexpr Index kQueryTile = 64;
inline constexpr Index kKeyTile = 256;

// One head of one sequence.
template <class T>
struct AttentionHead {
  AttentionHead(const AttentionOperands<T>& operands, Index item)
      : in(operands),
        sequence(operands.sequences[static_cast<std::size_t>(item / operands.heads)]),
        sequence_index(item / operands.heads),
        head(item % operands.heads) {}

  Index query_offset() const {  // of the head's first query element
    return sequence.query_begin * in.query_stride + head * in.head_width;
  }
  Index key_offset() const { return sequence.key_begin * in.key_stride + head * in.head_width; }
  Index output_stride() const { return in.heads * in.head_width; }
  Index output_offset() const {
    return sequence.query_begin * output_stride() + head * in.head_width;
  }
  // Keys that query t sees.
  Index visible(Index t) const { return sequence.key_count - sequence.query_count + t + 1; }

  const AttentionOperands<T>& in;
  const AttentionSequence& sequence;
  Index sequence_index;
  Index head;
};

// Queries [query, query + rows) against keys [key, key + columns).
struct AttentionTile {
  Index query;
  Index rows;
  Index key;
  Index columns;
};

// Calls body(tile) for the tiles of queries, and inside it for the tiles of keys that any of these
// queries may see.
template <class T, class Body>
void for_key_tiles(const AttentionHead<T>& head, Index query, const Body& body) {
  const Index rows = std::min(kQueryTile, head.sequence.query_count - query);
  const Index end = head.visible(query + rows - 1);
  for (Index key = 0; key < end; key += kKeyTile) {
    body(AttentionTile{query, rows, key, std::min(kKeyTile, end - key)});
  }
}

// scores [rows, kKeyTile] = scale * query key^T
template <class T>
void tile_scores(const AttentionHead<T>& head, const AttentionTile& tile, T* scores) {
  const AttentionOperands<T>& in = head.in;
  gemm_on_this_thread<T>({.m = tile.rows,
                          .n = tile.columns,
                          .k = in.head_width,
                          .a = in.query + head.query_offset() + tile.query * in.query_stride,
                          .a_stride = in.query_stride,
                          .b = in.key + head.key_offset() + tile.key * in.key_stride,
                          .b_stride = in.key_stride,
                          .transpose_b = true,
                          .c = scores,
                          .c_stride = kKeyTile,
                          .alpha = in.scale});
}

// How many of the tile's keys the tile's row sees.
template <class T>
Index visible_columns(const AttentionHead<T>& head, const AttentionTile& tile, Index row) {
  return std::clamp(head.visible(tile.query + row) - tile.key, Index{0}, tile.columns);
}

// Where the random numbers of one row of weights start. A sequence may have 2^24 keys before rows
// share numbers.
template <class T>
DropoutRow dropout_row(const AttentionHead<T>& head, const AttentionTile& tile, Index row) {
  DropoutRow result = head.in.dropout;
  const Index query = head.sequence.query_begin + tile.query + row;
  result.position = (static_cast<std::uint64_t>(query * head.in.heads + head.head) << 24) +
                    static_cast<std::uint64_t>(tile.key);
  return result;
}

}  // namespace headlight::kernels
