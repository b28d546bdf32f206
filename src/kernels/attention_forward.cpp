#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention_tile.h"
#include "kernels/parallel.h"

namespace headlight::kernels {
namespace {

// What the online softmax knows of a tile of queries.
template <class T>
struct RowState {
  T maximum[kQueryTile];
  T sum[kQueryTile];
};

// Turns one row of scores into exp(score - maximum), and corrects the row's sum and output for a
// maximum that has grown.
template <class T>
void absorb_row(T* scores, Index visible, Index row, RowState<T>& state, T* output, Index width) {
  const Loops<T>& loop = loops<T>();
  const T highest = std::max(state.maximum[row], loop.maximum(scores, visible));
  const T correction = std::exp(state.maximum[row] - highest);
  if (correction != T{1}) {
    state.sum[row] *= correction;
    loop.scale(correction, output, width);
  }
  state.maximum[row] = highest;
  state.sum[row] += loop.exp_shifted(scores, highest, visible);
}

// output rows of the tile += weights [rows, columns] value
template <class T>
void add_values(const AttentionHead<T>& head, const AttentionTile& tile, const T* weights,
                T* output) {
  const AttentionOperands<T>& in = head.in;
  gemm_on_this_thread<T>({.m = tile.rows,
                          .n = in.head_width,
                          .k = tile.columns,
                          .a = weights,
                          .a_stride = kKeyTile,
                          .b = in.value + head.key_offset() + tile.key * in.key_stride,
                          .b_stride = in.key_stride,
                          .c = output,
                          .c_stride = head.output_stride(),
                          .beta = tile.key == 0 ? T{0} : T{1}});
}

template <class T>
void process_tile(const AttentionHead<T>& head, const AttentionTile& tile, RowState<T>& state,
                  T* scores, T* output) {
  tile_scores(head, tile, scores);
  for (Index row = 0; row < tile.rows; ++row) {
    T* row_scores = scores + row * kKeyTile;
    const Index visible = visible_columns(head, tile, row);
    absorb_row(row_scores, visible, row, state, output + row * head.output_stride(),
               tile.key == 0 ? 0 : head.in.head_width);
    std::fill(row_scores + visible, row_scores + tile.columns, T{0});
    if (head.in.dropout.probability > 0) {
      loops<T>().dropout(row_scores, row_scores, dropout_row(head, tile, row), visible);
    }
  }
  add_values(head, tile, scores, output);
}

// The weights of a tile of queries, once their maxima and sums are final: [H, T, S] of the
// sequence.
template <class T>
void write_weights(const AttentionHead<T>& head, Index query, const RowState<T>& state, T* scores,
                   T* weights) {
  const Index keys = head.sequence.key_count;
  T* rows = weights + (head.head * head.sequence.query_count + query) * keys;
  for_key_tiles(head, query, [&](const AttentionTile& tile) {
    tile_scores(head, tile, scores);
    for (Index row = 0; row < tile.rows; ++row) {
      T* row_scores = scores + row * kKeyTile;
      const Index visible = visible_columns(head, tile, row);
      loops<T>().exp_shifted(row_scores, state.maximum[row], visible);
      loops<T>().scale(T{1} / state.sum[row], row_scores, visible);
      std::copy_n(row_scores, visible, rows + row * keys + tile.key);
    }
  });
  const Index row_count = std::min(kQueryTile, head.sequence.query_count - query);
  for (Index row = 0; row < row_count; ++row) {
    std::fill(rows + row * keys + head.visible(query + row), rows + (row + 1) * keys, T{0});
  }
}

template <class T>
void finish_rows(const AttentionHead<T>& head, Index query, const RowState<T>& state, T* output,
                 const AttentionOutputs<T>& out) {
  const Index rows = std::min(kQueryTile, head.sequence.query_count - query);
  for (Index row = 0; row < rows; ++row) {
    loops<T>().scale(T{1} / state.sum[row], output + row * head.output_stride(),
                     head.in.head_width);
    if (out.log_sum_exp != nullptr) {
      const Index place = (head.sequence.query_begin + query + row) * head.in.heads + head.head;
      out.log_sum_exp[place] = state.maximum[row] + std::log(state.sum[row]);
    }
  }
}

template <class T>
void forward_head(const AttentionHead<T>& head, const AttentionOutputs<T>& out, T* scores) {
  for (Index query = 0; query < head.sequence.query_count; query += kQueryTile) {
    RowState<T> state;
    std::fill_n(state.maximum, kQueryTile, -std::numeric_limits<T>::infinity());
    std::fill_n(state.sum, kQueryTile, T{0});
    T* output = out.output + head.output_offset() + query * head.output_stride();
    for_key_tiles(head, query, [&](const AttentionTile& tile) {
      process_tile(head, tile, state, scores, output);
    });
    if (!out.weights.empty()) {
      write_weights(head, query, state, scores,
                    out.weights[static_cast<std::size_t>(head.sequence_index)]);
    }
    finish_rows(head, query, state, output, out);
  }
}

}  // namespace

template <class T>
void attention_forward(const AttentionOperands<T>& in, const AttentionOutputs<T>& out) {
  const auto items = static_cast<Index>(in.sequences.size()) * in.heads;
  std::vector<T> scratch(static_cast<std::size_t>(max_threads() * kQueryTile * kKeyTile));
  parallel_chunks(items, 1, [&](Index thread, Index item, Index, Index) {
    forward_head(AttentionHead<T>(in, item), out, scratch.data() + thread * kQueryTile * kKeyTile);
  });
}

template void attention_forward(const AttentionOperands<float>&, const AttentionOutputs<float>&);
template void attention_forward(const AttentionOperands<double>&, const AttentionOutputs<double>&);

}  // namespace headlight::kernels
