#include "heads/effects/head_substitutes.h"

namespace headlight {
namespace {

// Copies sequence `source` of `from` to sequence `b` of `to`, token by token; a shorter source
// starts again. `rows` are the values of `from`, `moved` [N, width] the values of `to`.
void copy_sequence(const Tensor& rows, const Batch& from, std::size_t source, Tensor& moved,
                   const Batch& to, std::size_t b) {
  const Index width = rows.size(1);
  const Index length = from.offsets[source + 1] - from.offsets[source];
  for (Index n = to.offsets[b]; n < to.offsets[b + 1]; ++n) {
    const Index row = from.offsets[source] + (n - to.offsets[b]) % length;
    moved.strided_view({width}, {1}, n * width)
        .copy_from(rows.strided_view({width}, {1}, row * width));
  }
}

// Values of each sequence from the next sequence at the same position. The last sequence of the
// batch takes them from the first sequence of the following batch.
Tensor shifted(const ForwardReplay& replay, const ForwardReplay& following, std::size_t layer) {
  const Tensor& here = replay.outputs()[layer];
  const Tensor& there = following.outputs()[layer];
  const Batch& batch = replay.batch();
  Tensor moved = Tensor::empty(here.shape(), here.dtype());
  const auto last = static_cast<std::size_t>(batch.sequence_count() - 1);
  for (std::size_t b = 0; b < last; ++b) {
    copy_sequence(here, batch, b + 1, moved, batch, b);
  }
  copy_sequence(there, following.batch(), 0, moved, batch, last);
  return moved;
}

}  // namespace

bool ReplaceHeads::wants(Point point, Index layer) const {
  return point == Point::z && !heads_.of_layer(layer).empty();
}

Tensor ReplaceHeads::visit(const Place& place, const Tensor& z) {
  Tensor changed = z.detach().clone();
  const Index width = z.size(2);
  const Shape shape{z.size(0), width};
  for (const HeadId& id : heads_.of_layer(place.layer)) {
    const Index begin = place_of(id, layout_) * width;
    Tensor head = changed.strided_view(shape, {z.size(1) * width, 1}, begin);
    if (substitutes_.empty()) {
      head.fill(0);
    } else {
      const Tensor& from = substitutes_[static_cast<std::size_t>(id.layer)];
      head.copy_from(from.strided_view(shape, from.strides(), begin));
    }
  }
  return changed;
}

HeadSubstitutes::HeadSubstitutes(const LanguageModel& model, const SequentialBatches& batches,
                                 AblationMode mode)
    : model_(model), batches_(batches), mode_(mode) {
  if (mode == AblationMode::mean) {
    means_ = mean_rows(model, batches, [](Point point, Index) { return point == Point::z; });
  }
}

std::vector<Tensor> HeadSubstitutes::for_batch(const ForwardReplay& replay, Index index) const {
  std::vector<Tensor> result;
  if (mode_ == AblationMode::mean) {
    for (Index layer = 0; layer < std::ssize(replay.outputs()); ++layer) {
      const Tensor& mean = means_.at({Point::z, layer});
      result.push_back(mean.strided_view({replay.batch().token_count(), mean.size(0)}, {0, 1}));
    }
  } else if (mode_ == AblationMode::resample) {
    require_value(batches_.count() > 1 || replay.batch().sequence_count() > 1, "mode",
                  "resample needs at least two documents or blocks, got one: use zero or mean");
    const ForwardReplay following(model_, batches_.batch((index + 1) % batches_.count()));
    for (std::size_t layer = 0; layer < replay.outputs().size(); ++layer) {
      result.push_back(shifted(replay, following, layer));
    }
  }
  return result;
}

}  // namespace headlight
