#pragma once

#include <optional>
#include <vector>

#include "headlight/heads/circuit.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Who writes into the residual stream of a model, and who reads it. Whoever reads sees a prefix of
// the senders: all that wrote before.
class CircuitGraph {
 public:
  struct Receiver {
    CircuitNode node;
    std::optional<Point> into;
    Index senders = 0;  // that it sees
  };

  explicit CircuitGraph(const Gpt& model);

  const std::vector<CircuitNode>& senders() const { return senders_; }
  const std::vector<Receiver>& receivers() const { return receivers_; }
  // The receivers of one port of a layer, which stand in a row: q, k, v; mlp_port() for the MLP;
  // logits, of any layer, for the logits.
  Index first_receiver(Point port, Index layer) const;
  Index receiver_count(Point port, Index layer) const;
  // Place of the first head of a layer among the senders, and of its MLP.
  Index head_sender(Index layer) const { return heads_[static_cast<std::size_t>(layer)]; }
  Index mlp_sender(Index layer) const { return head_sender(layer) + model_.heads().count(layer); }

  // Where what an MLP reads can be changed: ln2, behind a norm that is its own; else only what
  // comes of it, mlp_out.
  Point mlp_port() const;

 private:
  void add_readers(const BlockPlan& plan, Index layer);

  const Gpt& model_;
  std::vector<CircuitNode> senders_;
  std::vector<Receiver> receivers_;
  std::vector<Index> heads_;  // [L]
};

}  // namespace headlight
