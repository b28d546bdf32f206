#pragma once

#include <map>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Collects the attention weights of a forward pass: put one into ForwardContext and the attention
// kernel also writes the probabilities it computes with, before dropout.
class Recorder {
 public:
  // Layers to record; empty: all.
  explicit Recorder(std::vector<Index> layers = {});

  bool wants(Index layer) const;
  // Where a layer appends the weights of each sequence of the batch, [H, T, T].
  std::vector<Tensor>& sequences(Index layer) { return layers_[layer]; }
  // The recorded layers in order, each with one tensor [H, T, T] per sequence.
  const std::map<Index, std::vector<Tensor>>& layers() const { return layers_; }
  // One layer's weights as [B, H, T, T], T the longest sequence; the rows and columns of pads are
  // 0. Throws Error when the layer was not recorded.
  Tensor padded(Index layer) const;

 private:
  std::vector<Index> wanted_;
  std::map<Index, std::vector<Tensor>> layers_;
};

}  // namespace headlight
