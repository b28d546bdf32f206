#pragma once

#include <algorithm>

#include "headlight/tensor/storage.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/threads/parallel.h"

// Common parts of attention's forward and backward. A head is computed in tiles of queries and
// keys. Inside a tile, products run strip by strip and skip keys that no query of the strip sees.
namespace headlight::kernels {

inline constexpr Index kMaximumQueryTile = 64;
inline constexpr Index kKeyTile = 256;  // a multiple of every kind's panel width

// One head of one sequence.
template <class T>
struct AttentionHead {
  AttentionHead(const AttentionOperands<T>& operands, Index sequence_number, Index head_number)
      : in(operands),
        sequence(operands.sequences[static_cast<std::size_t>(sequence_number)]),
        sequence_index(sequence_number),
        head(head_number),
        group(operands.group_of(head_number)) {}

  Index query_offset() const {  // offset of the head's first query element
    return sequence.query_begin * in.query_stride + head * in.head_width;
  }
  Index key_offset() const {
    return sequence.key_begin * in.key_stride + group * in.key_head_stride;
  }
  Index output_stride() const { return in.heads * in.head_width; }
  Index output_offset() const {
    return sequence.query_begin * output_stride() + head * in.head_width;
  }
  // Query t sees keys [hidden(t), visible(t)).
  Index visible(Index t) const {
    return in.causal ? sequence.key_count - sequence.query_count + t + 1 : sequence.key_count;
  }
  Index hidden(Index t) const {
    return in.window == 0 ? 0 : std::max<Index>(0, visible(t) - in.window);
  }

  const AttentionOperands<T>& in;
  const AttentionSequence& sequence;
  Index sequence_index;
  Index head;
  Index group;  // the head's group, which is its key head
};

// Returns the number of keys of the longest sequence.
inline Index longest(std::span<const AttentionSequence> sequences) {
  Index keys = 0;
  for (const AttentionSequence& sequence : sequences) {
    keys = std::max(keys, sequence.key_count);
  }
  return keys;
}

// Number of heads whose work is worth waking a thread.
template <class T>
Index head_grain(const AttentionOperands<T>& in) {
  constexpr Index kWorthwhile = Index{1} << 16;  // multiply-adds
  Index work = 0;
  for (const AttentionSequence& sequence : in.sequences) {
    work += sequence.query_count * sequence.key_count * in.head_width;
  }
  const auto average = work / std::max<Index>(1, static_cast<Index>(in.sequences.size()));
  return std::max<Index>(1, kWorthwhile / std::max<Index>(1, average));
}

enum class HeadOrder {
  any,            // heads are independent
  group_by_group  // heads that share a key head run one after the other on one thread
};

// Runs a Worker<Tiles>(head, to, set, scratch) for every head of every sequence, in parallel.
template <template <class> class Worker, class Tiles, class T, class To>
void run_heads(const AttentionOperands<T>& in, const To& to, const typename Tiles::Set& set,
               HeadOrder order = HeadOrder::any) {
  // Whole cache lines, which threads do not share.
  const Index size = rounded_up(Worker<Tiles>::scratch_size(set, longest(in.sequences), in), 64);
  Storage scratch(static_cast<std::size_t>(max_threads() * size) * sizeof(T));
  T* memory = static_cast<T*>(scratch.data());
  // A work item is a head or, by_group, a group of heads.
  const bool by_group = order == HeadOrder::group_by_group;
  const Index parts = by_group ? in.groups() : in.heads;
  const Index items = static_cast<Index>(in.sequences.size()) * parts;
  const Index grain = std::max<Index>(1, head_grain(in) * parts / in.heads);
  parallel_chunks(items, grain, [&](Index thread, Index, Index begin, Index end) {
    for (Index item = begin; item < end; ++item) {
      const Index part = item % parts;
      const Index last = by_group ? in.group_begin(part + 1) : part + 1;
      for (Index head = by_group ? in.group_begin(part) : part; head < last; ++head) {
        Worker<Tiles>({in, item / parts, head}, to, set, memory + thread * size).run();
      }
    }
  });
}

// Queries [query, query + rows) and keys [key, key + columns).
struct AttentionTile {
  Index query;
  Index rows;
  Index key;
  Index columns;
  bool is_first;  // the first tile of keys of these queries
};

// Calls body(tile) for every tile of keys that any query of [query, query + rows) sees.
template <class T, class Body>
void for_key_tiles(const AttentionHead<T>& head, Index query, Index rows, const Body& body) {
  const Index first = head.hidden(query) / kKeyTile * kKeyTile;
  const Index end = head.visible(query + rows - 1);
  for (Index key = first; key < end; key += kKeyTile) {
    body(AttentionTile{query, rows, key, std::min(kKeyTile, end - key), key == first});
  }
}

// A row of a tile sees the tile's keys [hidden_columns(), visible_columns()), which may be empty.
template <class T>
Index visible_columns(const AttentionHead<T>& head, const AttentionTile& tile, Index row) {
  return std::clamp(head.visible(tile.query + row) - tile.key, Index{0}, tile.columns);
}
template <class T>
Index hidden_columns(const AttentionHead<T>& head, const AttentionTile& tile, Index row) {
  return std::clamp(head.hidden(tile.query + row) - tile.key, Index{0}, tile.columns);
}

// Returns the random-number position of one row of weights. Rows start sharing numbers when a
// sequence has more than 2^24 keys.
template <class T>
DropoutRow dropout_row(const AttentionHead<T>& head, const AttentionTile& tile, Index row) {
  DropoutRow result = head.in.dropout;
  const Index query = head.sequence.query_begin + tile.query + row;
  result.position = (static_cast<std::uint64_t>(query * head.in.heads + head.head) << 24) +
                    static_cast<std::uint64_t>(tile.key);
  return result;
}

}  // namespace headlight::kernels
