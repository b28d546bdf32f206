#pragma once

#include <map>
#include <span>

#include "interpret/circuit/sender_rows.h"

namespace headlight {

// Hook that gives each reader a residual stream of its own, made from the current one and the
// outputs of the senders before it.
class ReaderStreams : public ForwardHook {
 public:
  bool wants(Point point, Index layer) const final;
  Tensor visit(const HookSite& site, const Tensor& value) final;

 protected:
  // Both must outlive it.
  ReaderStreams(const Gpt& model, const CircuitGraph& graph) : model_(model), graph_(graph) {}

  // Returns whether the readers at a port of CircuitGraph get other streams.
  virtual bool changes(Point port, Index layer) const = 0;
  // Returns these streams [R, N, C], made from stream().
  virtual Tensor streams_of(Point port, Index layer) = 0;
  // Keeps the outputs of consecutive senders, from number `first` on: rows [H, N, C] or [N, C].
  virtual void write(Index first, const Tensor& rows) = 0;
  // Passes the post-norm after a branch, with divisor `scale` [N, 1].
  virtual void pass_norm(Branch /*branch*/, Index /*layer*/, const Tensor& /*scale*/) {}

  const CircuitGraph& graph() const { return graph_; }
  const Tensor& stream() const { return stream_; }  // [N, C], the last one seen

 private:
  const Gpt& model_;
  const CircuitGraph& graph_;
  Tensor stream_;
};

// Cuts edges: they carry their values on another text. In each reader's stream, kept edges carry
// current values and all others the values of the other text. Its passes read K copies of a text,
// [K N, C], each with another set of kept edges.
class EdgeCut final : public ReaderStreams {
 public:
  // `other` holds the senders' rows on the other text. All must outlive it.
  EdgeCut(const Gpt& model, const CircuitGraph& graph, std::span<const KeptEdges> sets,
          const SenderRows& other);

 private:
  bool changes(Point port, Index layer) const override;
  Tensor streams_of(Point port, Index layer) override;
  void write(Index first, const Tensor& rows) override { change_.write(first, rows); }
  void pass_norm(Branch branch, Index layer, const Tensor& scale) override;
  // Sums the changes of the senders below `senders`, [K N C].
  void sum_changes(Index senders);

  std::span<const KeptEdges> sets_;
  SenderChange change_;
  Tensor sum_;        // [K N C], of the changes of the first senders
  Index summed_ = 0;  // their number
};

// A number from 0 to 1 for each edge, [R, S] for the R readers of each port that sees S senders.
using EdgeMasks = std::map<PointInLayer, Tensor>;

// Cuts edges by degrees: a reader's stream is the current one minus (1 - mask) times the change of
// each sender from another text. Records gradients for the masks, also through senders that read
// masked edges. Not for post-norm models.
class MaskedEdges final : public ReaderStreams {
 public:
  // `other` holds the senders' rows [S, N C] on the other text. All must outlive it.
  MaskedEdges(const Gpt& model, const CircuitGraph& graph, const Tensor& other,
              const EdgeMasks& masks)
      : ReaderStreams(model, graph), other_(other), masks_(masks) {}

 private:
  bool changes(Point port, Index layer) const override { return masks_.contains({port, layer}); }
  Tensor streams_of(Point port, Index layer) override;
  void write(Index first, const Tensor& rows) override;

  const Tensor& other_;
  const EdgeMasks& masks_;
  Tensor changes_;  // of the senders so far, [S, N C]
};

}  // namespace headlight
