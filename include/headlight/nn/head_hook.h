#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight {

// Sees what the heads of a Gpt compute during a forward pass, and may replace it: put one into
// ForwardContext. What a function returns goes on in the place of what it got, and must have its
// shape and type; ops on it are part of the graph, so that gates learn gradients.
class HeadHook {
 public:
  HeadHook() = default;
  virtual ~HeadHook() = default;
  HeadHook(const HeadHook&) = delete;
  HeadHook& operator=(const HeadHook&) = delete;

  // Before attention: queries, keys and values of all heads side by side, [N, 3 H D].
  virtual Tensor projections(Index /*layer*/, const Tensor& qkv) { return qkv; }
  // After attention, before c_proj: the outputs of all heads side by side, [N, H D]
  // (TransformerLens: hook_z).
  virtual Tensor outputs(Index /*layer*/, const Tensor& outputs) { return outputs; }
};

}  // namespace headlight
