#pragma once

#include <vector>

#include "heads/circuit/sender_rows.h"

namespace headlight {

// Lets edges carry what they carry on another text: every reader finds in the stream what the
// senders of its own edges write now, and what the others wrote there.
class EdgeCut final : public ForwardHook {
 public:
  // `kept` [receivers] of [senders that it sees]; `other` is what the senders write on the other
  // text. All must outlive it.
  EdgeCut(const Gpt& model, const CircuitGraph& graph, const std::vector<std::vector<bool>>& kept,
          const SenderRows& other);

  bool wants(Point point, Index layer) const override;
  Tensor visit(const Place& place, const Tensor& value) override;

 private:
  Tensor read(Point port, Index layer, const Tensor& value) const;
  Tensor streams_of(Point port, Index layer) const;
  bool is_port(Point point) const;  // of this model
  bool cuts_any(Point port, Index layer) const;

  const Gpt& model_;
  const CircuitGraph& graph_;
  const std::vector<std::vector<bool>>& kept_;
  SenderChange change_;
  Tensor stream_;  // [N, C], as it was seen last
};

}  // namespace headlight
