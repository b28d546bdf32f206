#pragma once

#include <string>

#include "headlight/tensor/tensor.h"

namespace headlight {

// The places of a forward pass that can be watched and changed, in the order in which a layer comes
// by them. H D is the inner width of a layer's attention, I that of its MLP.
enum class Point {
  resid_pre,   // [N, C]: the residual stream as it enters the layer
  q,           // [N, H, D]: queries
  k,           // [N, H, D]: keys
  v,           // [N, H, D]: values
  pattern,     // [H, T, S] of one sequence: attention weights, before dropout
  z,           // [N, H, D]: what heads put out, before c_proj
  attn_out,    // [N, C]: what attention adds to the residual stream
  resid_mid,   // [N, C]: the residual stream between attention and MLP
  mlp_pre,     // [N, I]: before the activation
  mlp_post,    // [N, I]: behind it
  mlp_out,     // [N, C]: what the MLP adds to the residual stream
  resid_post,  // [N, C]: the residual stream as it leaves the layer
};

// As TransformerLens calls it: "blocks.5.attn.hook_q".
std::string point_name(Point point, Index layer);

struct Place {
  Point point = Point::resid_pre;
  Index layer = 0;
  Index sequence = 0;  // of the batch, for a pattern
};

// Sees what a model computes during a forward pass, and may replace it: put one into
// ForwardContext, or give it to a Decoder. It is asked in training, on prompts and while tokens are
// generated; a point that nobody wants costs nothing.
class ForwardHook {
 public:
  ForwardHook() = default;
  virtual ~ForwardHook() = default;
  ForwardHook(const ForwardHook&) = delete;
  ForwardHook& operator=(const ForwardHook&) = delete;

  // Whether visit() shall be called there. Must give the same answer during one forward pass.
  virtual bool wants(Point point, Index layer) const = 0;
  // What it returns goes on in the place of `value`, and must have its shape and type; ops on it
  // are part of the graph, so that gates learn gradients.
  virtual Tensor visit(const Place& place, const Tensor& value) = 0;
};

// What `hook` makes of a value; the value itself where there is no hook or it does not want it.
// Throws Error when the hook returns another shape or type.
Tensor visited(ForwardHook* hook, const Place& place, const Tensor& value);

}  // namespace headlight
