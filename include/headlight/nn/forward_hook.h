#pragma once

#include <span>

#include "headlight/nn/point.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

struct Batch;

struct Place {
  Point point = Point::resid_pre;
  Index layer = 0;     // 0 for points of no layer
  Index sequence = 0;  // of the pass, for attn_scores and pattern
};

// What the rows of a pass are.
struct PassRows {
  std::span<const std::int32_t> tokens;     // [N]
  std::span<const std::int32_t> positions;  // [N], each in its own sequence
  std::span<const Index> offsets;           // [B + 1]: sequence b is rows offsets[b] ...
};

// Valid as long as the batch is.
PassRows rows_of(const Batch& batch);

// Sees what a model computes during a forward pass, and may replace it: put one into
// ForwardContext, or give it to a Decoder. It is asked in training, on prompts and while tokens are
// generated; a point that nobody wants costs nothing.
class ForwardHook {
 public:
  ForwardHook() = default;
  virtual ~ForwardHook() = default;
  ForwardHook(const ForwardHook&) = delete;
  ForwardHook& operator=(const ForwardHook&) = delete;

  // Called before a pass comes by its points, and again when it goes on with fewer rows: logits are
  // often of the last tokens alone. `rows` is valid until the next call.
  virtual void begin(const PassRows& /*rows*/) {}
  // Whether visit() shall be called there. Must give the same answer during one forward pass.
  virtual bool wants(Point point, Index layer) const = 0;
  // What it returns goes on in the place of `value`, and must have its shape and type; ops on it
  // are part of the graph, so that gates learn gradients.
  virtual Tensor visit(const Place& place, const Tensor& value) = 0;
};

// Two hooks, one after the other; either may be null.
class HookPair final : public ForwardHook {
 public:
  HookPair(ForwardHook* first, ForwardHook* second) : first_(first), second_(second) {}

  void begin(const PassRows& rows) override;
  bool wants(Point point, Index layer) const override;
  Tensor visit(const Place& place, const Tensor& value) override;
  // The one that there is, both as one, or null.
  ForwardHook* get() {
    return first_ != nullptr && second_ != nullptr ? this : first_ != nullptr ? first_ : second_;
  }

 private:
  ForwardHook* first_;
  ForwardHook* second_;
};

// What `hook` makes of a value; the value itself where there is no hook or it does not want it.
// Throws Error when the hook returns another shape or type.
Tensor visited(ForwardHook* hook, const Place& place, const Tensor& value);

// Whether there is a hook that wants one of the points.
bool wants_any(const ForwardHook* hook, std::initializer_list<Point> points, Index layer);

}  // namespace headlight
