#pragma once

#include <cstdint>
#include <vector>

#include "heads/circuit/circuit_graph.h"
#include "heads/point_values.h"

namespace headlight {

// What the senders of a graph write while a text is read. Of a head that is its share of what
// attention adds: behind a norm of the output, divided as that norm divided the sum of all heads.
// What the layer adds once, a bias, goes with its heads in equal parts wherever a norm follows.
struct SenderRows {
  Tensor rows;         // [S, N C]
  PointValues scales;  // at ln1_scale and ln2_scale of post-norms, [N, 1]
};

SenderRows sender_rows(const Gpt& model, const CircuitGraph& graph, const Batch& text);

// The rows [H, N, C] of a layer's heads, from the value of `result` [N, H, C].
Tensor head_rows(const Gpt& model, Index layer, const Tensor& result);

// The point at which a post-norm tells its scale.
inline Point post_norm_scale(Branch branch) {
  return branch == Branch::attention ? Point::ln1_scale : Point::ln2_scale;
}

// By how much what the senders write differs from another text, as it stands in the residual
// stream: every post-norm that it has passed divided it as it did the whole stream, that of the
// other text by the other's scale. So the changes of all senders together are that of the stream.
class SenderChange {
 public:
  // All must outlive it.
  SenderChange(const Gpt& model, const CircuitGraph& graph, const SenderRows& other);

  // Rows [R, N, C] of senders in a row.
  void write(Index first, const Tensor& rows);
  // Behind the branch of a layer all that was written passes its post-norm, which divides by
  // `scale` [N, 1].
  void pass_norm(Branch branch, Index layer, const Tensor& scale);

  const Tensor& values() const { return change_; }  // [S, N C]

 private:
  void divide(Tensor& rows, Branch branch, Index layer, const Tensor& scale) const;

  const Gpt& model_;
  const CircuitGraph& graph_;
  const PointValues& other_scales_;
  Tensor other_;   // [S, N C], as it stands in the other text's stream
  Tensor change_;  // [S, N C]
};

}  // namespace headlight
