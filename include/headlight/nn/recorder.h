#pragma once

#include <map>
#include <utility>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Collects the attention weights of a forward pass. Set it in ForwardContext; the attention kernel
// then also writes its probabilities, before dropout.
class Recorder {
 public:
  // Layers to record; empty: all.
  explicit Recorder(std::vector<Index> layers = {}) : wanted_(std::move(layers)) {}

  bool wants(Index layer) const;
  // Returns the list to which a layer appends the weights of each sequence, [H, T, T]; [H, T, S]
  // for cross-attention or cached keys.
  std::vector<Tensor>& sequences(Index layer) { return layers_[layer]; }
  // Returns the recorded layers in order, each with one tensor [H, T, T] per sequence.
  const std::map<Index, std::vector<Tensor>>& layers() const { return layers_; }
  // Returns a layer's weights as [B, H, T, S], with the most queries and keys of a sequence and 0
  // for padding. Throws Error when the layer was not recorded.
  Tensor padded(Index layer) const;

 private:
  std::vector<Index> wanted_;
  std::map<Index, std::vector<Tensor>> layers_;
};

}  // namespace headlight
