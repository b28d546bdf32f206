#pragma once

#include <span>

#include "interpret/circuit/sender_rows.h"

namespace headlight {

// Hook that cuts edges: they carry their values on another text. In each reader's stream, kept
// edges carry current values and all others the values of the other text. Its passes read K copies
// of a text, [K N, C], each with another set of kept edges.
class EdgeCut final : public ForwardHook {
 public:
  // `other` holds the senders' rows on the other text. All must outlive it.
  EdgeCut(const Gpt& model, const CircuitGraph& graph, std::span<const KeptEdges> sets,
          const SenderRows& other);

  bool wants(Point point, Index layer) const override;
  Tensor visit(const HookSite& site, const Tensor& value) override;

 private:
  Tensor streams_of(Point port, Index layer);
  // Sums the changes of the senders below `senders`, [K N C].
  void sum_changes(Index senders);
  bool cuts_any(Point port, Index layer) const;

  const Gpt& model_;
  const CircuitGraph& graph_;
  std::span<const KeptEdges> sets_;
  SenderChange change_;
  Tensor stream_;     // [K N, C], the last one seen
  Tensor sum_;        // [K N C], of the changes of the first senders
  Index summed_ = 0;  // their number
};

}  // namespace headlight
