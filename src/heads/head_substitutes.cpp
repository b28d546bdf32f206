#include "heads/head_substitutes.h"

#include <optional>

namespace headlight {
namespace {

// The rows of `values` [N, width] for every token of `to`: what the next sequence of `from` (after
// the last the first) has at the same place; a shorter one starts again.
Tensor shifted(const Tensor& values, const Batch& from, const Batch& to) {
  const Index width = values.size(1);
  const Tensor given = to_contiguous(values);
  Tensor moved = Tensor::empty({to.token_count(), width}, values.dtype());
  for (Index b = 0; b < to.sequence_count(); ++b) {
    const auto place = static_cast<std::size_t>(b);
    const auto next = static_cast<std::size_t>((b + 1) % from.sequence_count());
    const Index length = from.offsets[next + 1] - from.offsets[next];
    for (Index n = to.offsets[place]; n < to.offsets[place + 1]; ++n) {
      const Index row = from.offsets[next] + (n - to.offsets[place]) % length;
      moved.strided_view({width}, {1}, n * width)
          .copy_from(given.strided_view({width}, {1}, row * width));
    }
  }
  return moved;
}

std::vector<Tensor> shifted_layers(const ForwardReplay& from, const ForwardReplay& to,
                                   Index layers) {
  std::vector<Tensor> result;
  for (Index layer = 0; layer < layers; ++layer) {
    result.push_back(shifted(from.outputs(layer), from.batch(), to.batch()));
  }
  return result;
}

// Adds the rows of x [N, width] to sums [width].
void add_rows(const Tensor& x, std::vector<double>& sums) {
  const std::vector<double> values = x.to_vector();
  const auto width = static_cast<std::size_t>(x.size(1));
  sums.resize(width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[i % width] += values[i];
  }
}

}  // namespace

Tensor ReplaceHeads::outputs(Index layer, const Tensor& outputs) {
  std::optional<Tensor> changed;
  for (const HeadId& id : heads_) {
    if (id.layer == layer) {
      changed = changed ? changed : outputs.detach().clone();
      replace(id, *changed);
    }
  }
  return changed.value_or(outputs);
}

void ReplaceHeads::replace(const HeadId& id, Tensor& outputs) const {
  const Index width = model_.block(id.layer).attention().head_width();
  if (substitutes_.empty()) {
    outputs.strided_view({outputs.size(0), width}, {outputs.size(1), 1}, id.head * width).fill(0);
    return;
  }
  const Tensor& from = substitutes_[static_cast<std::size_t>(id.layer)];
  outputs.strided_view({outputs.size(0), width}, {outputs.size(1), 1}, id.head * width)
      .copy_from(from.strided_view({outputs.size(0), width}, from.strides(), id.head * width));
}

HeadSubstitutes::HeadSubstitutes(const Gpt& model, const SequentialBatches& batches,
                                 AblationMode mode)
    : model_(model), batches_(batches), mode_(mode) {
  if (mode == AblationMode::mean) {
    find_means();
  }
}

std::vector<Tensor> HeadSubstitutes::for_batch(const ForwardReplay& replay) const {
  const Index layers = model_.config().n_layer;
  switch (mode_) {
    case AblationMode::zero:
      return {};
    case AblationMode::mean:
      return repeated_means(replay.batch().token_count());
    case AblationMode::resample:
      break;
  }
  if (replay.batch().sequence_count() > 1) {
    return shifted_layers(replay, replay, layers);
  }
  require(batches_.count() > 1,
          "resample: expected at least two documents or blocks, got one: use zero or mean");
  return shifted_layers(ForwardReplay(model_, batches_.batch(0)), replay, layers);
}

void HeadSubstitutes::find_means() {
  std::vector<std::vector<double>> sums(static_cast<std::size_t>(model_.config().n_layer));
  double tokens = 0;
  for (Index i = 0; i < batches_.count(); ++i) {
    const ForwardReplay replay(model_, batches_.batch(i));
    tokens += static_cast<double>(replay.batch().token_count());
    for (std::size_t layer = 0; layer < sums.size(); ++layer) {
      add_rows(replay.outputs(static_cast<Index>(layer)), sums[layer]);
    }
  }
  for (std::vector<double>& layer : sums) {
    for (double& value : layer) {
      value /= tokens;
    }
    const Tensor mean = Tensor::from(layer, {static_cast<Index>(layer.size())});
    means_.push_back(convert(mean, model_.dtype()));
  }
}

std::vector<Tensor> HeadSubstitutes::repeated_means(Index tokens) const {
  std::vector<Tensor> result;
  for (const Tensor& mean : means_) {
    result.push_back(mean.strided_view({tokens, mean.size(0)}, {0, 1}));
  }
  return result;
}

}  // namespace headlight
