#pragma once

#include <map>

#include "interpret/circuit/sender_rows.h"

namespace headlight {

// A number from 0 to 1 for each edge, [R, S] for the R readers of each port that sees S senders.
using EdgeMasks = std::map<PointInLayer, Tensor>;

// Hook that cuts edges by degrees: a reader's stream is the current one minus (1 - mask) times the
// change of each sender from another text. Records gradients for the masks, also through senders
// that read masked edges. Not for post-norm models.
class MaskedEdges final : public ForwardHook {
 public:
  // `other` holds the senders' rows [S, N C] on the other text. All must outlive it.
  MaskedEdges(const Gpt& model, const CircuitGraph& graph, const Tensor& other,
              const EdgeMasks& masks)
      : model_(model), graph_(graph), other_(other), masks_(masks) {}

  bool wants(Point point, Index layer) const override;
  Tensor visit(const HookSite& site, const Tensor& value) override;

 private:
  Tensor streams_of(Point port, Index layer) const;  // [R, N, C]
  // Appends the changes of the next senders, which wrote `rows` [H, N, C] or [N, C].
  void write(const Tensor& rows);

  const Gpt& model_;
  const CircuitGraph& graph_;
  const Tensor& other_;
  const EdgeMasks& masks_;
  Tensor stream_;   // [N, C], the last one seen
  Tensor changes_;  // of the senders so far, [S, N C]
};

}  // namespace headlight
