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
  // Layers to record; empty: all. `ends_pass`: nothing else is needed of the pass, which may end
  // with the weights of the last of these layers; its result is then not that of the model.
  explicit Recorder(std::vector<Index> layers = {}, bool ends_pass = false)
      : wanted_(std::move(layers)), ends_pass_(ends_pass) {}

  bool wants(Index layer) const;
  bool ends_pass(Index layer) const { return ends_pass_ && layer == wanted_.back(); }
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
  bool ends_pass_;
  std::map<Index, std::vector<Tensor>> layers_;
};

}  // namespace headlight
