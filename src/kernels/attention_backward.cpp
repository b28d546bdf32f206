#include <vector>

#include "kernels/attention_tile.h"
#include "kernels/parallel.h"

namespace headlight::kernels {
namespace {

// Scratch of one thread.
template <class T>
struct Scratch {
  T* weights;       // [kQueryTile, kKeyTile], after dropout once the value gradient needs it
  T* weights_grad;  // [kQueryTile, kKeyTile]
  T delta[kQueryTile];
};

// delta[row] = output . output_grad: what the softmax gradient subtracts from every key.
template <class T>
void row_deltas(const AttentionHead<T>& head, const AttentionGradients<T>& g, Index query,
                T* delta) {
  const Index rows = std::min(kQueryTile, head.sequence.query_count - query);
  for (Index row = 0; row < rows; ++row) {
    const Index place = head.output_offset() + (query + row) * head.output_stride();
    delta[row] = loops<T>().dot(g.output + place, g.output_grad + place, head.in.head_width);
  }
}

// The weights before dropout, from the scores and the sums that forward kept.
template <class T>
void recompute_weights(const AttentionHead<T>& head, const AttentionTile& tile,
                       const T* log_sum_exp, T* weights) {
  tile_scores(head, tile, weights);
  for (Index row = 0; row < tile.rows; ++row) {
    const Index query = head.sequence.query_begin + tile.query + row;
    const Index visible = visible_columns(head, tile, row);
    T* row_weights = weights + row * kKeyTile;
    loops<T>().exp_shifted(row_weights, log_sum_exp[query * head.in.heads + head.head], visible);
    std::fill(row_weights + visible, row_weights + tile.columns, T{0});
  }
}

// c [columns, D] += tile^T b: what the tile's queries send to its keys or values.
template <class T>
void add_to_keys(const AttentionHead<T>& head, const AttentionTile& tile, const T* tile_values,
                 const T* b, Index b_stride, T* c) {
  gemm_on_this_thread<T>({.m = tile.columns,
                          .n = head.in.head_width,
                          .k = tile.rows,
                          .a = tile_values,
                          .a_stride = kKeyTile,
                          .transpose_a = true,
                          .b = b,
                          .b_stride = b_stride,
                          .c = c,
                          .c_stride = head.in.key_stride,
                          .beta = T{1}});
}

// weights_grad [rows, columns] = output_grad value^T
template <class T>
void gradient_of_weights(const AttentionHead<T>& head, const AttentionTile& tile,
                         const T* output_grad, T* weights_grad) {
  const AttentionOperands<T>& in = head.in;
  gemm_on_this_thread<T>({.m = tile.rows,
                          .n = tile.columns,
                          .k = in.head_width,
                          .a = output_grad,
                          .a_stride = head.output_stride(),
                          .b = in.value + head.key_offset() + tile.key * in.key_stride,
                          .b_stride = in.key_stride,
                          .transpose_b = true,
                          .c = weights_grad,
                          .c_stride = kKeyTile});
}

template <class T>
void add_query_gradient(const AttentionHead<T>& head, const AttentionTile& tile,
                        const T* scores_grad, T* query_grad) {
  const AttentionOperands<T>& in = head.in;
  gemm_on_this_thread<T>({.m = tile.rows,
                          .n = in.head_width,
                          .k = tile.columns,
                          .a = scores_grad,
                          .a_stride = kKeyTile,
                          .b = in.key + head.key_offset() + tile.key * in.key_stride,
                          .b_stride = in.key_stride,
                          .c = query_grad,
                          .c_stride = in.query_stride,
                          .beta = T{1}});
}

// The value gradient needs the weights after dropout, the score gradient those before; so the
// dropped ones are made in the buffer of the weight gradient, which is free until then.
template <class T>
void add_value_gradient(const AttentionHead<T>& head, const AttentionTile& tile,
                        const Scratch<T>& scratch, const T* output_grad, T* value_grad) {
  const T* weights = scratch.weights;
  if (head.in.dropout.probability > 0) {
    std::fill_n(scratch.weights_grad, tile.rows * kKeyTile, T{0});
    for (Index row = 0; row < tile.rows; ++row) {
      loops<T>().dropout(scratch.weights + row * kKeyTile, scratch.weights_grad + row * kKeyTile,
                         dropout_row(head, tile, row), visible_columns(head, tile, row));
    }
    weights = scratch.weights_grad;
  }
  add_to_keys(head, tile, weights, output_grad, head.output_stride(), value_grad);
}

template <class T>
void scores_gradient(const AttentionHead<T>& head, const AttentionTile& tile,
                     const Scratch<T>& scratch) {
  for (Index row = 0; row < tile.rows; ++row) {
    T* row_grad = scratch.weights_grad + row * kKeyTile;
    const Index visible = visible_columns(head, tile, row);
    if (head.in.dropout.probability > 0) {
      loops<T>().dropout(row_grad, row_grad, dropout_row(head, tile, row), visible);
    }
    loops<T>().softmax_backward(scratch.weights + row * kKeyTile, row_grad, scratch.delta[row],
                                head.in.scale, visible);
    std::fill(row_grad + visible, row_grad + tile.columns, T{0});
  }
}

template <class T>
void backward_tile(const AttentionHead<T>& head, const AttentionTile& tile,
                   const AttentionGradients<T>& g, const Scratch<T>& scratch) {
  const AttentionOperands<T>& in = head.in;
  const Index query_place = head.query_offset() + tile.query * in.query_stride;
  const Index key_place = head.key_offset() + tile.key * in.key_stride;
  const T* output_grad = g.output_grad + head.output_offset() + tile.query * head.output_stride();
  recompute_weights(head, tile, g.log_sum_exp, scratch.weights);
  add_value_gradient(head, tile, scratch, output_grad, g.value_grad + key_place);
  gradient_of_weights(head, tile, output_grad, scratch.weights_grad);
  scores_gradient(head, tile, scratch);
  add_query_gradient(head, tile, scratch.weights_grad, g.query_grad + query_place);
  add_to_keys(head, tile, scratch.weights_grad, in.query + query_place, in.query_stride,
              g.key_grad + key_place);
}

}  // namespace

template <class T>
void attention_backward(const AttentionOperands<T>& in, const AttentionGradients<T>& gradients) {
  constexpr Index kTileSize = kQueryTile * kKeyTile;
  const auto items = static_cast<Index>(in.sequences.size()) * in.heads;
  std::vector<T> buffer(static_cast<std::size_t>(max_threads() * 2 * kTileSize));
  parallel_chunks(items, 1, [&](Index thread, Index item, Index, Index) {
    const AttentionHead<T> head(in, item);
    T* own = buffer.data() + thread * 2 * kTileSize;
    Scratch<T> scratch{.weights = own, .weights_grad = own + kTileSize, .delta = {}};
    for (Index query = 0; query < head.sequence.query_count; query += kQueryTile) {
      row_deltas(head, gradients, query, scratch.delta);
      for_key_tiles(head, query, [&](const AttentionTile& tile) {
        backward_tile(head, tile, gradients, scratch);
      });
    }
  });
}

template void attention_backward(const AttentionOperands<float>&, const AttentionGradients<float>&);
template void attention_backward(const AttentionOperands<double>&,
                                 const AttentionGradients<double>&);

}  // namespace headlight::kernels
