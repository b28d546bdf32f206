#pragma once

#include <vector>

#include "heads/circuit/circuit_graph.h"

namespace headlight {

// Lets edges carry what they carry on another text: every reader finds in the stream what the
// senders of its own edges write now, and what the others wrote there.
class EdgeCut final : public ForwardHook {
 public:
  // `kept` [receivers] of [senders that it sees]; `other` is what the senders write on the other
  // text, [S, N C]. All must outlive it.
  EdgeCut(const Gpt& model, const CircuitGraph& graph, const std::vector<std::vector<bool>>& kept,
          const Tensor& other);

  bool wants(Point point, Index layer) const override;
  Tensor visit(const Place& place, const Tensor& value) override;

 private:
  void write(Index sender, const Tensor& rows);
  Tensor streams_of(Point port, Index layer) const;
  bool cuts_any(Point port, Index layer) const;

  const Gpt& model_;
  const CircuitGraph& graph_;
  const std::vector<std::vector<bool>>& kept_;
  const Tensor& other_;
  Tensor change_;  // [S, N C]: what senders write now less `other`
  Tensor stream_;  // [N, C], as it was seen last
};

}  // namespace headlight
