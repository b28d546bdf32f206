#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "headlight/interpret/circuit/circuit.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Whether each edge is kept, [receivers] of [visible senders].
using KeptEdges = std::vector<std::vector<bool>>;

// Senders and receivers of a residual stream. A receiver sees all senders that wrote before it.
class CircuitGraph {
 public:
  struct Receiver {
    CircuitNode node;
    std::optional<Point> into;
    Index senders = 0;  // number of visible senders
  };

  explicit CircuitGraph(const Gpt& model);

  const std::vector<CircuitNode>& senders() const { return senders_; }
  const std::vector<Receiver>& receivers() const { return receivers_; }
  KeptEdges no_edges() const;
  // Consecutive receivers with the same visible senders.
  struct Port {
    Index first = 0;
    Index count = 0;
    Index senders = 0;
  };
  // Receivers at one port of a layer, none if it has no such port. Ports: q, k, v, mlp_port() for
  // the MLP, and logits of the last layer.
  Port port(Point point, Index layer) const;
  // Senders that a receiver is an input of: its MLP, its head or the heads of its group.
  std::vector<std::size_t> readers(std::size_t receiver) const;
  // Index of a layer's first head among the senders, and of its MLP.
  Index head_sender(Index layer) const { return heads_[static_cast<std::size_t>(layer)]; }
  Index mlp_sender(Index layer) const { return head_sender(layer) + model_.heads().count(layer); }

  // Point where an MLP is changed: its input ln2 if it has its own norm, else its output mlp_out.
  Point mlp_port() const;

 private:
  void add_readers(const BlockPlan& plan, Index layer);

  const Gpt& model_;
  std::vector<CircuitNode> senders_;
  std::vector<Receiver> receivers_;
  std::vector<Index> heads_;  // [L]
  std::map<std::pair<Point, Index>, Port> ports_;
};

}  // namespace headlight
