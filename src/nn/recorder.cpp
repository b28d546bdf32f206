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
  Index rows = 0;
  Index columns = 0;
  for (const Tensor& weights : sequences) {
    rows = std::max(rows, weights.size(1));
    columns = std::max(columns, weights.size(2));
  }
  Tensor result = Tensor::zeros({static_cast<Index>(sequences.size()), heads, rows, columns},
                                sequences[0].dtype());
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    const Shape& shape = sequences[b].shape();
    result
        .strided_view(shape, {rows * columns, columns, 1},
                      static_cast<Index>(b) * heads * rows * columns)
        .copy_from(sequences[b]);
  }
  return result;
}

}  // namespace headlight
