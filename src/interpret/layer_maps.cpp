#include "interpret/layer_maps.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/recorder.h"

namespace headlight {

void require_causal(const LanguageModel& model) {
  require(model.is_causal(), "this needs a causal model; this one is bidirectional, as BERT is");
}

std::vector<Tensor>& recorded_weights(Recorder& recorder, Index layer, const LanguageModel& model) {
  std::vector<Tensor>& weights = recorder.sequences(layer);
  require(!weights.empty(), "a model of type '", model.model_type(),
          "' does not pass to Recorder the attention weights of layer ", layer);
  return weights;
}

void visit_layer_maps(
    const LanguageModel& model, const std::vector<std::vector<std::int32_t>>& sequences,
    const std::function<void(Index layer, const std::vector<Tensor>& weights)>& visit) {
  const NoGrad no_grad;
  const Batch batch = make_batch(sequences);
  const HeadLayout heads = model.heads();
  const bool is_cut = model.layer_count() > 0;
  Recorder recorder;
  Tensor x = is_cut ? model.residual(batch, 0) : model.hidden(batch, {.recorder = &recorder});
  Index end = heads.layers();
  while (end > 0 && heads.count(end - 1) == 0) {
    --end;
  }
  for (Index layer = 0; layer < end; ++layer) {
    if (is_cut) {
      recorder = Recorder({layer}, layer + 1 == end);
      x = model.run_layers(layer, layer + 1, x, batch, {.recorder = &recorder});
    }
    if (heads.count(layer) > 0) {
      std::vector<Tensor>& weights = recorded_weights(recorder, layer, model);
      for (Tensor& tensor : weights) {
        tensor = convert(tensor, DType::float32);
      }
      visit(layer, weights);
      weights.clear();
    }
  }
}

std::vector<SequencePiece> cut_sequences(const std::vector<std::vector<std::int32_t>>& sequences,
                                         Index block_size, Index max_tokens) {
  std::vector<SequencePiece> pieces;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto whole = static_cast<Index>(sequences[i].size());
    const Index end = max_tokens > 0 ? std::min(whole, max_tokens) : whole;
    for (Index begin = 0; begin < end; begin += block_size) {
      pieces.push_back({i, begin, std::min(block_size, end - begin)});
    }
  }
  return pieces;
}

}  // namespace headlight
