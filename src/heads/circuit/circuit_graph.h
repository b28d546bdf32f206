#pragma once

#include <optional>
#include <vector>

#include "headlight/heads/circuit.h"
#include "heads/point_values.h"

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

  // Throws Error as find_circuit() says.
  explicit CircuitGraph(const Gpt& model);

  const std::vector<CircuitNode>& senders() const { return senders_; }
  const std::vector<Receiver>& receivers() const { return receivers_; }
  // The receivers of one port of a layer, which stand in a row: q, k, v; ln2 for the MLP; logits,
  // of any layer, for the logits.
  Index first_receiver(Point port, Index layer) const;
  Index receiver_count(Point port, Index layer) const;
  // Place of the first head of a layer among the senders, and of its MLP.
  Index head_sender(Index layer) const { return heads_[static_cast<std::size_t>(layer)]; }
  Index mlp_sender(Index layer) const { return head_sender(layer) + model_.heads().count(layer); }

  // What the senders write while a text is read, [S, N C] of values at resid_pre.0, result and
  // mlp_out.
  Tensor written(const PointValues& values) const;

  // The stream that readers of a port find at it, from the hook's values.
  static bool is_written(Point point, Index layer);

 private:
  void add_readers(const BlockPlan& plan, Index layer);

  const Gpt& model_;
  std::vector<CircuitNode> senders_;
  std::vector<Receiver> receivers_;
  std::vector<Index> heads_;  // [L]
};

}  // namespace headlight
