#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/attention/attention_products.h"
#include "kernels/bfloat16/attention_tiles.h"

namespace headlight::kernels {
namespace {

// Forward pass of one head: computes its output for all queries, in scratch memory of one thread.
template <class Tiles>
class ForwardHead {
 public:
  using T = typename Tiles::Real;
  using Set = typename Tiles::Set;

  ForwardHead(const AttentionHead<T>& head, const AttentionOutputs<T>& out, const Set& set,
              T* scratch)
      : head_(head),
        out_(out),
        query_tile_(Tiles::query_tile(set)),
        scores_(scratch),
        tile_maxima_(scores_ + query_tile_ * kKeyTile),
        tiles_(set, tile_maxima_ + maxima_size(set, head.sequence.key_count)),
        products_(head_, tiles_) {
    const AttentionOperands<T>& in = head.in;
    const Index keys = head.sequence.key_count;
    T* panels = tile_maxima_ + maxima_size(set, keys) + tiles_size(set, in.head_width);
    key_ = tiles_.pack_panels({in.key + head.key_offset(), 1, in.key_stride}, in.head_width, keys,
                              panels);
    value_ =
        tiles_.pack_panels({in.value + head.key_offset(), in.key_stride, 1}, keys, in.head_width,
                           panels + Tiles::panels_size(set, in.head_width, keys));
  }

  // Returns the elements of scratch memory for heads with at most `keys` keys.
  static Index scratch_size(const Set& set, Index keys, const AttentionOperands<T>& in) {
    const Index head_width = in.head_width;
    return Tiles::query_tile(set) * kKeyTile + maxima_size(set, keys) +
           tiles_size(set, head_width) + Tiles::panels_size(set, head_width, keys) +
           Tiles::panels_size(set, keys, head_width);
  }

  void run() {
    for (Index query = 0; query < head_.sequence.query_count; query += query_tile_) {
      const Index rows = std::min(query_tile_, head_.sequence.query_count - query);
      std::fill_n(maximum_, rows, -std::numeric_limits<T>::infinity());
      std::fill_n(sum_, rows, T{0});
      for_key_tiles(head_, query, rows, [&](const AttentionTile& tile) { process(tile); });
      if (!out_.weights.empty()) {
        finish_weights(query, rows);
      }
      finish_rows(query, rows);
    }
  }

 private:
  static Index maxima_size(const Set& set, Index keys) {
    return chunk_count(keys, kKeyTile) * Tiles::query_tile(set);
  }
  static Index tiles_size(const Set& set, Index head_width) {
    return Tiles::scratch_size(set, std::max(head_width, kKeyTile));
  }

  T* output(Index query) const {
    return out_.output + head_.output_offset() + query * head_.output_stride();
  }

  void process(const AttentionTile& tile) {
    const AttentionOperands<T>& in = head_.in;
    products_.query_key(
        tile, {in.query + head_.query_offset() + tile.query * in.query_stride, in.query_stride, 1},
        key_, {.c = scores_, .c_stride = kKeyTile, .alpha = in.scale});
    for_strips(head_, tile, tiles_.rows(), [&](Index first, Index rows, Index keys) {
      for (Index row = first; row < first + rows; ++row) {
        absorb_row(tile, row, keys);
      }
    });
    products_.weighted_sum(tile, {scores_, kKeyTile, 1}, value_,
                           {.c = output(tile.query),
                            .c_stride = head_.output_stride(),
                            .beta = tile.is_first ? T{0} : T{1}});
  }

  // Turns one row of scores into exp(score - maximum). When the maximum grows, rescales the row's
  // sum and output. The row's strip has `keys` keys; keys that the row does not see get weight 0.
  // Works on whole vectors.
  void absorb_row(const AttentionTile& tile, Index row, Index keys) {
    constexpr Index kStep = 16;
    const Loops<T>& loop = loops<T>();
    T* scores = scores_ + row * kKeyTile;
    const Index hidden = hidden_columns(head_, tile, row);
    const Index visible = visible_columns(head_, tile, row);
    const Index padded = rounded_up(keys, kStep);
    if (hidden > 0 && hidden >= visible) {  // the row's window begins after this tile
      std::fill_n(scores, padded, T{0});
      return;
    }
    if (head_.in.cap > 0) {
      loop.soft_cap(head_.in.cap, scores + hidden, nullptr, visible - hidden);
    }
    std::fill_n(scores, hidden, -std::numeric_limits<T>::infinity());
    std::fill(scores + visible, scores + padded, -std::numeric_limits<T>::infinity());
    const T highest = std::max(maximum_[row], loop.maximum(scores, padded));
    if (!tile.is_first && highest > maximum_[row]) {
      const T correction = std::exp(maximum_[row] - highest);
      sum_[row] *= correction;
      loop.scale(correction, output(tile.query + row), head_.in.head_width);
    }
    maximum_[row] = highest;
    sum_[row] += loop.exp_shifted(scores, highest, padded);
    if (!out_.weights.empty()) {
      std::copy_n(scores, visible, weights(tile.query + row) + tile.key);
      tile_maxima_[tile.key / kKeyTile * query_tile_ + row] = highest;
    }
    if (head_.in.dropout.probability > 0) {
      loop.dropout(scores, scores, dropout_row(head_, tile, row), visible);
    }
  }

  // Returns row [S] of the sequence's weights [H, T, S].
  T* weights(Index query) const {
    const AttentionSequence& sequence = head_.sequence;
    return out_.weights[static_cast<std::size_t>(head_.sequence_index)] +
           (head_.head * sequence.query_count + query) * sequence.key_count;
  }

  // Normalises the weights, which hold exp(score - maximum at the time of their tile).
  void finish_weights(Index query, Index rows) {
    for_key_tiles(head_, query, rows, [&](const AttentionTile& tile) {
      for (Index row = 0; row < tile.rows; ++row) {
        const Index visible = visible_columns(head_, tile, row);
        if (visible > hidden_columns(head_, tile, row)) {
          const T seen = tile_maxima_[tile.key / kKeyTile * query_tile_ + row];
          const T factor = std::exp(seen - maximum_[row]) / sum_[row];
          loops<T>().scale(factor, weights(query + row) + tile.key, visible);
        }
      }
    });
    for (Index t = query; t < query + rows; ++t) {
      std::fill_n(weights(t), head_.hidden(t), T{0});
      std::fill(weights(t) + head_.visible(t), weights(t) + head_.sequence.key_count, T{0});
    }
  }

  void finish_rows(Index query, Index rows) {
    for (Index row = 0; row < rows; ++row) {
      loops<T>().scale(T{1} / sum_[row], output(query + row), head_.in.head_width);
      if (out_.log_sum_exp != nullptr) {
        const Index offset =
            (head_.sequence.query_begin + query + row) * head_.in.heads + head_.head;
        out_.log_sum_exp[offset] = maximum_[row] + std::log(sum_[row]);
      }
    }
  }

  const AttentionHead<T>& head_;
  const AttentionOutputs<T>& out_;
  Index query_tile_;  // queries per tile
  T* scores_;         // [query_tile_, kKeyTile]
  T* tile_maxima_;    // [tiles of keys, query_tile_]
  Tiles tiles_;
  AttentionProducts<Tiles> products_;
  typename Tiles::Panels key_;    // [D, S]
  typename Tiles::Panels value_;  // [S, D]
  T maximum_[kMaximumQueryTile];  // maximum of each row's scores so far
  T sum_[kMaximumQueryTile];      // sum of exp(score - maximum) of each row
};

}  // namespace

template <class T>
void attention_forward(const AttentionOperands<T>& in, const AttentionOutputs<T>& out) {
  if constexpr (std::is_same_v<T, float>) {
    if (in.precision == Precision::bfloat16) {
      attention_forward(in, out, *bfloat16_tiles());
      return;
    }
  }
  run_heads<ForwardHead, RegisterTiles<T>>(in, out, gemm_tiles<T>());
}

template void attention_forward(const AttentionOperands<float>&, const AttentionOutputs<float>&);
template void attention_forward(const AttentionOperands<double>&, const AttentionOutputs<double>&);

void attention_forward(const AttentionOperands<float>& in, const AttentionOutputs<float>& out,
                       const Bfloat16Tiles& tiles) {
  run_heads<ForwardHead, Bfloat16AttentionTiles>(in, out, tiles);
}

}  // namespace headlight::kernels
