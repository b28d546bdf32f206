#pragma once

#include "interpret/circuit/sender_rows.h"

namespace headlight {

// Hook that cuts edges: they carry their values on another text. In each reader's stream, kept
// edges carry current values and all others the values of the other text.
class EdgeCut final : public ForwardHook {
 public:
  // `other` holds the senders' rows on the other text. All must outlive it.
  EdgeCut(const Gpt& model, const CircuitGraph& graph, const KeptEdges& kept,
          const SenderRows& other);

  bool wants(Point point, Index layer) const override;
  Tensor visit(const HookSite& site, const Tensor& value) override;

 private:
  Tensor read(Point port, Index layer, const Tensor& value) const;
  Tensor streams_of(Point port, Index layer) const;
  bool cuts_any(Point port, Index layer) const;

  const Gpt& model_;
  const CircuitGraph& graph_;
  const KeptEdges& kept_;
  SenderChange change_;
  Tensor stream_;  // [N, C], the last one seen
};

}  // namespace headlight
