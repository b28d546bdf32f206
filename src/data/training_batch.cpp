#include "headlight/data/training_batch.h"

#include <algorithm>
#include <utility>

namespace headlight {
namespace {

// Removes the last token of every sequence, which has no target. No sequence of `batch` may have
// only one token.
Batch drop_last_tokens(const Batch& batch) {
  Batch result;
  result.offsets.reserve(batch.offsets.size());
  for (Index b = 0; b <= batch.sequence_count(); ++b) {
    result.offsets.push_back(batch.offsets[static_cast<std::size_t>(b)] - b);
  }
  result.target_count = batch.target_count;
  const Shape shape{result.token_count()};
  for (Tensor Batch::*field : {&Batch::tokens, &Batch::positions, &Batch::targets}) {
    Tensor values = Tensor::empty(shape, DType::int32);
    std::int32_t* out = values.data<std::int32_t>();
    const std::int32_t* in = (batch.*field).data<std::int32_t>();
    for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
      out = std::copy(in + batch.offsets[b], in + batch.offsets[b + 1] - 1, out);
    }
    result.*field = std::move(values);
  }
  return result;
}

}  // namespace

Batch training_batch(const std::vector<std::vector<std::int32_t>>& sequences, std::int32_t pad_id) {
  PaddedBatch padded = pad_sequences(sequences, pad_id);
  bool* is_pad = padded.padding_mask.data<bool>();
  for (Index& length : padded.lengths) {
    if (length == 1) {
      *is_pad = true;
      length = 0;
    }
    is_pad += padded.tokens.size(1);
  }
  const bool any = std::any_of(padded.lengths.begin(), padded.lengths.end(),
                               [](Index length) { return length > 0; });
  require(any, "[training_batch] no sequence has two tokens, so there is no target");
  return drop_last_tokens(remove_padding(padded));
}

double padding_fraction(const Batch& batch) {
  Index longest = 0;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    longest = std::max(longest, batch.offsets[b + 1] - batch.offsets[b]);
  }
  const double places = static_cast<double>(longest) * static_cast<double>(batch.sequence_count());
  return places == 0.0 ? 0.0 : 1.0 - static_cast<double>(batch.token_count()) / places;
}

}  // namespace headlight
