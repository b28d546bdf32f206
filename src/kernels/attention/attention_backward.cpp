#include <limits>
#include <type_traits>

#include "kernels/attention/attention_products.h"
#include "kernels/bfloat16/attention_tiles.h"

namespace headlight::kernels {
namespace {

// Computes one head's gradients in its thread's scratch memory. Heads that share keys run one after
// the other; the first one initialises their sums.
template <class Tiles>
class BackwardHead {
 public:
  using T = typename Tiles::Real;
  using Set = typename Tiles::Set;
  using Panels = typename Tiles::Panels;

  BackwardHead(const AttentionHead<T>& head, const AttentionGradients<T>& gradients, const Set& set,
               T* scratch)
      : head_(head),
        g_(gradients),
        query_tile_(Tiles::query_tile(set)),
        weights_(scratch),
        weights_grad_(weights_ + query_tile_ * kKeyTile),
        tiles_(set, weights_grad_ + query_tile_ * kKeyTile),
        products_(head_, tiles_) {
    const AttentionOperands<T>& in = head.in;
    const Index width = in.head_width;
    const Index keys = head.sequence.key_count;
    const T* key = in.key + head.key_offset();
    const T* value = in.value + head.key_offset();
    T* next = weights_grad_ + query_tile_ * kKeyTile + tiles_size(set, width);
    const auto pack = [&](const MatrixView<T>& from, Index depth, Index columns) {
      const Panels packed = tiles_.pack_panels(from, depth, columns, next);
      next += Tiles::panels_size(set, depth, columns);
      return packed;
    };
    key_across_ = pack({key, 1, in.key_stride}, width, keys);
    value_across_ = pack({value, 1, in.key_stride}, width, keys);
    key_down_ = pack({key, in.key_stride, 1}, keys, width);
    query_panels_ = next;
    output_grad_panels_ = next + Tiles::panels_size(set, query_tile_, width);
    slopes_ = output_grad_panels_ + Tiles::panels_size(set, query_tile_, width);
  }

  // Returns the elements of scratch memory for heads with at most `keys` keys.
  static Index scratch_size(const Set& set, Index keys, const AttentionOperands<T>& in) {
    const Index head_width = in.head_width;
    const Index queries = Tiles::query_tile(set);
    return (in.cap > 0 ? 3 : 2) * queries * kKeyTile + tiles_size(set, head_width) +
           2 * Tiles::panels_size(set, head_width, keys) +
           Tiles::panels_size(set, keys, head_width) +
           2 * Tiles::panels_size(set, queries, head_width);
  }

  void run() {
    for (Index query = 0; query < head_.sequence.query_count; query += query_tile_) {
      const Index rows = std::min(query_tile_, head_.sequence.query_count - query);
      prepare_queries(query, rows);
      for_key_tiles(head_, query, rows, [&](const AttentionTile& tile) { process(tile); });
    }
  }

 private:
  static Index tiles_size(const Set& set, Index head_width) {
    return Tiles::scratch_size(set, std::max(head_width, kKeyTile));
  }

  const T* query(Index t) const {
    return head_.in.query + head_.query_offset() + t * head_.in.query_stride;
  }
  const T* output_grad(Index t) const {
    return g_.output_grad + head_.output_offset() + t * head_.output_stride();
  }

  // The tiles add to the gradients of keys, so keys that no earlier query has seen start at 0.
  void clear_new_keys(Index first, Index rows) const {
    const AttentionOperands<T>& in = head_.in;
    if (head_.head > in.group_begin(head_.group)) {
      return;
    }
    const Index seen = first == 0 ? 0 : head_.visible(first - 1);
    for (Index s = seen; s < head_.visible(first + rows - 1); ++s) {
      std::fill_n(g_.key_grad + head_.key_offset() + s * in.key_stride, in.head_width, T{0});
      std::fill_n(g_.value_grad + head_.key_offset() + s * in.key_stride, in.head_width, T{0});
    }
  }

  // delta = output . output_grad: the softmax gradient subtracts it from every key's gradient.
  void prepare_queries(Index first, Index rows) {
    const Index width = head_.in.head_width;
    clear_new_keys(first, rows);
    for (Index row = 0; row < rows; ++row) {
      const Index offset = head_.output_offset() + (first + row) * head_.output_stride();
      delta_[row] = loops<T>().dot(g_.output + offset, g_.output_grad + offset, width);
    }
    query_ =
        tiles_.pack_panels({query(first), head_.in.query_stride, 1}, rows, width, query_panels_);
    output_grad_ = tiles_.pack_panels({output_grad(first), head_.output_stride(), 1}, rows, width,
                                      output_grad_panels_);
  }

  void process(const AttentionTile& tile) {
    const AttentionOperands<T>& in = head_.in;
    const Index key_offset = head_.key_offset() + tile.key * in.key_stride;
    const MatrixView<T> weights_grad{weights_grad_, kKeyTile, 1};
    recompute_weights(tile);
    products_.add_to_keys(tile, dropped_weights(tile), output_grad_,
                          {.c = g_.value_grad + key_offset, .c_stride = in.key_stride, .beta = 1});
    products_.query_key(tile, {output_grad(tile.query), head_.output_stride(), 1}, value_across_,
                        {.c = weights_grad_, .c_stride = kKeyTile});
    differentiate_scores(tile);
    products_.weighted_sum(
        tile, weights_grad, key_down_,
        {.c = g_.query_grad + head_.query_offset() + tile.query * in.query_stride,
         .c_stride = in.query_stride,
         .beta = tile.is_first ? T{0} : T{1}});
    products_.add_to_keys(tile, weights_grad, query_,
                          {.c = g_.key_grad + key_offset, .c_stride = in.key_stride, .beta = 1});
  }

  // Calls body(row, visible, padded) for every row. `visible` is the number of keys that the row
  // sees; `padded` is the number of keys of its strip, rounded up to whole vectors. Also zeroes up
  // to one vector of `values` after `padded`, which add_to_keys reads.
  template <class Body>
  void for_rows(const AttentionTile& tile, T* values, const Body& body) const {
    constexpr Index kStep = 16;
    for_strips(head_, tile, tiles_.rows(), [&](Index first, Index rows, Index keys) {
      const Index padded = rounded_up(keys, kStep);
      for (Index row = first; row < first + rows; ++row) {
        body(row, visible_columns(head_, tile, row), padded);
        std::fill(values + row * kKeyTile + padded,
                  values + row * kKeyTile + std::min(padded + kStep, kKeyTile), T{0});
      }
    });
  }

  // Recomputes the weights before dropout from the scores and forward's log_sum_exp; 0 where a
  // query does not see a key.
  void recompute_weights(const AttentionTile& tile) {
    products_.query_key(tile, {query(tile.query), head_.in.query_stride, 1}, key_across_,
                        {.c = weights_, .c_stride = kKeyTile, .alpha = head_.in.scale});
    for_rows(tile, weights_, [&](Index row, Index visible, Index padded) {
      T* weights = weights_ + row * kKeyTile;
      const Index n = head_.sequence.query_begin + tile.query + row;
      const Index hidden = hidden_columns(head_, tile, row);
      if (head_.in.cap > 0 && visible > hidden) {
        loops<T>().soft_cap(head_.in.cap, weights + hidden, slopes_ + row * kKeyTile + hidden,
                            visible - hidden);
      }
      std::fill_n(weights, hidden, -std::numeric_limits<T>::infinity());
      std::fill(weights + visible, weights + padded, -std::numeric_limits<T>::infinity());
      loops<T>().exp_shifted(weights, g_.log_sum_exp[n * head_.in.heads + head_.head], padded);
    });
  }

  // The value gradient needs the weights after dropout, the score gradient those before dropout.
  // The buffer of the weight gradient is still free here, so it holds the dropped weights.
  MatrixView<T> dropped_weights(const AttentionTile& tile) {
    if (head_.in.dropout.probability == 0) {
      return {weights_, kKeyTile, 1};
    }
    for_rows(tile, weights_grad_, [&](Index row, Index visible, Index padded) {
      T* dropped = weights_grad_ + row * kKeyTile;
      loops<T>().dropout(weights_ + row * kKeyTile, dropped, dropout_row(head_, tile, row),
                         visible);
      std::fill(dropped + visible, dropped + padded, T{0});
    });
    return {weights_grad_, kKeyTile, 1};
  }

  void differentiate_scores(const AttentionTile& tile) {
    for_rows(tile, weights_grad_, [&](Index row, Index visible, Index padded) {
      T* row_grad = weights_grad_ + row * kKeyTile;
      if (head_.in.dropout.probability > 0) {
        loops<T>().dropout(row_grad, row_grad, dropout_row(head_, tile, row), visible);
      }
      // Clears the columns after the visible keys. query_key may not have written all of them, and
      // NaN there would make softmax_backward return NaN.
      std::fill(row_grad + visible, row_grad + padded, T{0});
      loops<T>().softmax_backward(weights_ + row * kKeyTile, row_grad, delta_[row], head_.in.scale,
                                  padded);
      const Index hidden = hidden_columns(head_, tile, row);
      if (head_.in.cap > 0 && visible > hidden) {
        loops<T>().multiply(slopes_ + row * kKeyTile + hidden, row_grad + hidden, visible - hidden);
      }
    });
  }

  const AttentionHead<T>& head_;
  const AttentionGradients<T>& g_;
  Index query_tile_;  // queries per tile
  T* weights_;        // [query_tile_, kKeyTile]
  T* weights_grad_;   // [query_tile_, kKeyTile]
  Tiles tiles_;
  AttentionProducts<Tiles> products_;
  T* query_panels_;        // memory of query_
  T* output_grad_panels_;  // memory of output_grad_
  T* slopes_;              // [query_tile_, kKeyTile], of the soft cap; in.cap > 0 only
  Panels key_across_;      // [D, S]
  Panels value_across_;    // [D, S]
  Panels key_down_;        // [S, D]
  Panels query_;           // [rows of the tile, D]
  Panels output_grad_;     // [rows of the tile, D]
  T delta_[kMaximumQueryTile];
};

}  // namespace

template <class T>
void attention_backward(const AttentionOperands<T>& in, const AttentionGradients<T>& gradients) {
  if constexpr (std::is_same_v<T, float>) {
    if (in.precision == Precision::bfloat16) {
      attention_backward(in, gradients, *bfloat16_tiles());
      return;
    }
  }
  run_heads<BackwardHead, RegisterTiles<T>>(in, gradients, gemm_tiles<T>(),
                                            HeadOrder::group_by_group);
}

template void attention_backward(const AttentionOperands<float>&, const AttentionGradients<float>&);
template void attention_backward(const AttentionOperands<double>&,
                                 const AttentionGradients<double>&);

void attention_backward(const AttentionOperands<float>& in,
                        const AttentionGradients<float>& gradients, const Bfloat16Tiles& tiles) {
  run_heads<BackwardHead, Bfloat16AttentionTiles>(in, gradients, tiles, HeadOrder::group_by_group);
}

}  // namespace headlight::kernels
