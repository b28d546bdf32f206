#include <cmath>
#include <limits>
#include <vector>

#include "headlight/tensor/storage.h"
#include "kernels/attention_products.h"
#include "kernels/parallel.h"

namespace headlight::kernels {
namespace {

// One head's pass over its queries, with scratch memory of its thread.
template <class T>
class ForwardHead {
 public:
  ForwardHead(const AttentionHead<T>& head, const AttentionOutputs<T>& out, T* scratch)
      : head_(head), out_(out), scores_(scratch) {
    const AttentionOperands<T>& in = head.in;
    const Index keys = head.sequence.key_count;
    T* key_panels = scores_ + kQueryTile * kKeyTile;
    T* value_panels = key_panels + PackedPanels<T>::size(in.head_width, keys);
    tile_maxima_ = value_panels + PackedPanels<T>::size(keys, in.head_width);
    key_ = pack_panels<T>({in.key + head.key_offset(), 1, in.key_stride}, in.head_width, keys,
                          key_panels);
    value_ = pack_panels<T>({in.value + head.key_offset(), in.key_stride, 1}, keys, in.head_width,
                            value_panels);
  }

  // Elements for heads with so many keys at most.
  static Index scratch_size(Index keys, Index head_width) {
    return kQueryTile * kKeyTile + PackedPanels<T>::size(head_width, keys) +
           PackedPanels<T>::size(keys, head_width) + chunk_count(keys, kKeyTile) * kQueryTile;
  }

  void run() {
    for (Index query = 0; query < head_.sequence.query_count; query += kQueryTile) {
      std::fill_n(maximum_, kQueryTile, -std::numeric_limits<T>::infinity());
      std::fill_n(sum_, kQueryTile, T{0});
      for_key_tiles(head_, query, [&](const AttentionTile& tile) { process(tile); });
      if (!out_.weights.empty()) {
        finish_weights(query);
      }
      finish_rows(query);
    }
  }

 private:
  T* output(Index query) const {
    return out_.output + head_.output_offset() + query * head_.output_stride();
  }

  void process(const AttentionTile& tile) {
    const AttentionOperands<T>& in = head_.in;
    query_key_product<T>(
        head_, tile,
        {in.query + head_.query_offset() + tile.query * in.query_stride, in.query_stride, 1}, key_,
        {.c = scores_, .c_stride = kKeyTile, .alpha = in.scale});
    for_strips(head_, tile, [&](Index first, Index rows, Index keys) {
      for (Index row = first; row < first + rows; ++row) {
        absorb_row(tile, row, keys);
      }
    });
    weighted_sum<T>(head_, tile, {scores_, kKeyTile, 1}, value_,
                    {.c = output(tile.query),
                     .c_stride = head_.output_stride(),
                     .beta = tile.key == 0 ? T{0} : T{1}});
  }

  // Turns one row of scores into exp(score - maximum), and corrects the row's sum and output for a
  // maximum that has grown. The row's strip computes with `keys` keys: those it does not see get a
  // weight of 0. Whole vectors are worked on.
  void absorb_row(const AttentionTile& tile, Index row, Index keys) {
    constexpr Index kStep = 16;
    const Loops<T>& loop = loops<T>();
    T* scores = scores_ + row * kKeyTile;
    const Index visible = visible_columns(head_, tile, row);
    const Index padded = (keys + kStep - 1) / kStep * kStep;
    std::fill(scores + visible, scores + padded, -std::numeric_limits<T>::infinity());
    const T highest = std::max(maximum_[row], loop.maximum(scores, padded));
    if (tile.key > 0 && highest > maximum_[row]) {
      const T correction = std::exp(maximum_[row] - highest);
      sum_[row] *= correction;
      loop.scale(correction, output(tile.query + row), head_.in.head_width);
    }
    maximum_[row] = highest;
    sum_[row] += loop.exp_shifted(scores, highest, padded);
    if (!out_.weights.empty()) {
      std::copy_n(scores, visible, weights(tile.query + row) + tile.key);
      tile_maxima_[tile.key / kKeyTile * kQueryTile + row] = highest;
    }
    if (head_.in.dropout.probability > 0) {
      loop.dropout(scores, scores, dropout_row(head_, tile, row), visible);
    }
  }

  // Row [S] of the sequence's weights [H, T, S].
  T* weights(Index query) const {
    const AttentionSequence& sequence = head_.sequence;
    return out_.weights[static_cast<std::size_t>(head_.sequence_index)] +
           (head_.head * sequence.query_count + query) * sequence.key_count;
  }

  // The weights lie there as exp(score - maximum when their tile was computed).
  void finish_weights(Index query) {
    for_key_tiles(head_, query, [&](const AttentionTile& tile) {
      for (Index row = 0; row < tile.rows; ++row) {
        if (visible_columns(head_, tile, row) == 0) {
          continue;
        }
        const T seen = tile_maxima_[tile.key / kKeyTile * kQueryTile + row];
        const T factor = std::exp(seen - maximum_[row]) / sum_[row];
        loops<T>().scale(factor, weights(query + row) + tile.key,
                         visible_columns(head_, tile, row));
      }
    });
    const Index end = std::min(query + kQueryTile, head_.sequence.query_count);
    for (Index t = query; t < end; ++t) {
      std::fill(weights(t) + head_.visible(t), weights(t) + head_.sequence.key_count, T{0});
    }
  }

  void finish_rows(Index query) {
    const Index rows = std::min(kQueryTile, head_.sequence.query_count - query);
    for (Index row = 0; row < rows; ++row) {
      loops<T>().scale(T{1} / sum_[row], output(query + row), head_.in.head_width);
      if (out_.log_sum_exp != nullptr) {
        const Index place =
            (head_.sequence.query_begin + query + row) * head_.in.heads + head_.head;
        out_.log_sum_exp[place] = maximum_[row] + std::log(sum_[row]);
      }
    }
  }

  const AttentionHead<T>& head_;
  const AttentionOutputs<T>& out_;
  T* scores_;              // [kQueryTile, kKeyTile]
  T* tile_maxima_;         // [tiles of keys, kQueryTile]
  PackedPanels<T> key_;    // [D, S]
  PackedPanels<T> value_;  // [S, D]
  T maximum_[kQueryTile];  // of a row's scores so far
  T sum_[kQueryTile];      // of exp(score - maximum)
};

}  // namespace

template <class T>
void attention_forward(const AttentionOperands<T>& in, const AttentionOutputs<T>& out) {
  const Index size = ForwardHead<T>::scratch_size(longest(in.sequences), in.head_width);
  Storage scratch(static_cast<std::size_t>(max_threads() * size) * sizeof(T));
  T* memory = static_cast<T*>(scratch.data());
  parallel_chunks(head_count(in), head_grain(in), [&](Index thread, Index, Index begin, Index end) {
    for (Index item = begin; item < end; ++item) {
      ForwardHead<T>(AttentionHead<T>(in, item), out, memory + thread * size).run();
    }
  });
}

template void attention_forward(const AttentionOperands<float>&, const AttentionOutputs<float>&);
template void attention_forward(const AttentionOperands<double>&, const AttentionOutputs<double>&);

}  // namespace headlight::kernels
