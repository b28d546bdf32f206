#pragma once

#include "headlight/nn/forward_hook.h"
#include "interpret/circuit/circuit_graph.h"

namespace headlight {

// Contributions of all senders to the residual stream on one text. A head's contribution is its
// share of the attention output; an output norm divides it by the scale of the heads' sum. If a
// norm follows, the layer's bias is split equally among its heads.
struct SenderRows {
  Tensor rows;         // [S, N C]
  PointValues scales;  // at ln1_scale and ln2_scale of post-norms, [N, 1]
};

// Hook that keeps them in a pass.
class KeepSenders final : public ForwardHook {
 public:
  // Both must outlive it.
  KeepSenders(const Gpt& model, const CircuitGraph& graph) : model_(model), graph_(graph) {}

  bool wants(Point point, Index layer) const override;
  Tensor visit(const HookSite& site, const Tensor& value) override;

  SenderRows written;

 private:
  const Gpt& model_;
  const CircuitGraph& graph_;
};

// Rows [H, N, C] of a layer's heads from `result` [N, H, C].
Tensor head_rows(const Gpt& model, Index layer, const Tensor& result);

// Point with the scale of a post-norm.
inline Point post_norm_scale(Branch branch) {
  return branch == Branch::attention ? Point::ln1_scale : Point::ln2_scale;
}

// Difference of the senders' contributions between two texts, as seen in the residual stream. Each
// post-norm passed so far has divided them by its scale, which differs between the texts. The
// differences of all senders sum to the difference of the streams. One text may be read K times,
// with other changes; all reads are compared with the same other text.
class SenderChange {
 public:
  // All must outlive it.
  SenderChange(const Gpt& model, const CircuitGraph& graph, const SenderRows& other,
               Index reads = 1);

  // Sets the rows [R, K N, C] of consecutive senders, from `first` on.
  void write(Index first, const Tensor& rows);
  // Applies the post-norm after a branch of a layer, with divisor `scale` [K N, 1], to all rows.
  void pass_norm(Branch branch, Index layer, const Tensor& scale);

  const Tensor& values() const { return change_; }  // [S, K N C]

 private:
  void divide(Tensor& rows, Branch branch, Index layer, const Tensor& scale) const;
  // Difference of rows [R, K N C] and those of the other text, from sender `first` on, as [R, K, N
  // C].
  Tensor difference(const Tensor& rows, Index first) const;

  const Gpt& model_;
  const CircuitGraph& graph_;
  const PointValues& other_scales_;
  Index reads_;
  Tensor other_;   // [S, N C], as in the other text's stream
  Tensor change_;  // [S, K N C]
};

}  // namespace headlight
