#include "headlight/nn/recorder.h"

#include <algorithm>

namespace headlight {

bool Recorder::wants(Index layer) const {
  return wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), layer) != wanted_.end();
}

Tensor Recorder::padded(Index layer) const {
  const auto found = layers_.find(layer);
  require(found != layers_.end() && !found->second.empty(), "[Recorder] layer ", layer,
          " was not recorded");
  const std::vector<Tensor>& sequences = found->second;
  const Index heads = sequences[0].size(0);
  Index longest = 0;
  for (const Tensor& weights : sequences) {
    longest = std::max(longest, weights.size(1));
  }
  Tensor result = Tensor::zeros({static_cast<Index>(sequences.size()), heads, longest, longest},
                                sequences[0].dtype());
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    const Index length = sequences[b].size(1);
    result
        .strided_view({heads, length, length}, {longest * longest, longest, 1},
                      static_cast<Index>(b) * heads * longest * longest)
        .copy_from(sequences[b]);
  }
  return result;
}

}  // namespace headlight
