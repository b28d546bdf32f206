#include "heads/layer_maps.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/recorder.h"

namespace headlight {

void visit_layer_maps(const Gpt& model, const std::vector<std::vector<std::int32_t>>& sequences,
                      const LayerVisitor& visit) {
  const NoGrad no_grad;
  const Batch batch = make_batch(sequences);
  Tensor x = model.residual(batch, 0);
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    Recorder recorder({layer});
    ForwardContext context;
    context.recorder = model.config().heads(layer) > 0 ? &recorder : nullptr;
    x = model.block(layer).forward(x, batch.offsets, context);
    if (context.recorder == nullptr) {
      continue;
    }
    std::vector<Tensor>& weights = recorder.sequences(layer);
    for (Tensor& tensor : weights) {
      tensor = convert(tensor, DType::float32);
    }
    visit(layer, weights);
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

std::size_t batch_end(const std::vector<SequencePiece>& pieces, std::size_t begin, Index batch_size,
                      Index heads) {
  constexpr Index kMaxWeights = Index{64} << 20;  // of 4 bytes
  Index weights = 0;
  std::size_t end = begin;
  while (end < pieces.size() && end - begin < static_cast<std::size_t>(batch_size)) {
    weights += heads * pieces[end].length * pieces[end].length;
    if (end > begin && weights > kMaxWeights) {
      break;
    }
    ++end;
  }
  return end;
}

}  // namespace headlight
