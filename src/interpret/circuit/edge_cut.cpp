#include "interpret/circuit/edge_cut.h"

#include <algorithm>

#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "interpret/circuit/stream_reader.h"

namespace headlight {

EdgeCut::EdgeCut(const Gpt& model, const CircuitGraph& graph, const KeptEdges& kept,
                 const SenderRows& other)
    : model_(model), graph_(graph), kept_(kept), change_(model, graph, other) {}

bool EdgeCut::wants(Point point, Index layer) const {
  switch (point) {
    case Point::resid_pre:
    case Point::resid_mid:
    case Point::result:
    case Point::mlp_out:
      return true;
    case Point::ln1_scale:
    case Point::ln2_scale:
      return model_.config().norm == NormPosition::post;
    case Point::q:
    case Point::k:
    case Point::v:
    case Point::ln2:
      return cuts_any(point, layer);
    case Point::resid_post:
      return layer + 1 == model_.config().n_layer;
    default:
      return false;
  }
}

Tensor EdgeCut::visit(const HookSite& site, const Tensor& value) {
  switch (site.point) {
    case Point::resid_pre:
      if (site.layer == 0) {
        change_.write(0, value);
      }
      [[fallthrough]];
    case Point::resid_mid:
      stream_ = value;
      return value;
    case Point::result:
      change_.write(graph_.head_sender(site.layer), head_rows(model_, site.layer, value));
      return value;
    case Point::ln1_scale:
      change_.pass_norm(Branch::attention, site.layer, value);
      return value;
    case Point::ln2_scale:
      change_.pass_norm(Branch::mlp, site.layer, value);
      return value;
    case Point::mlp_out: {
      const Tensor written =
          cuts_any(Point::mlp_out, site.layer) ? read(Point::mlp_out, site.layer, value) : value;
      change_.write(graph_.mlp_sender(site.layer), written);
      return written;
    }
    case Point::resid_post:
      stream_ = value;
      return reshape(streams_of(Point::logits, site.layer), value.shape());
    default:
      return read(site.point, site.layer, value);
  }
}

// Inputs of a port's readers, computed from their streams; replaces `value`.
Tensor EdgeCut::read(Point port, Index layer, const Tensor& value) const {
  const Tensor streams = streams_of(port, layer);
  if (port == graph_.mlp_port()) {
    return read_by_mlp(model_, layer, port, reshape(streams, value.shape()));
  }
  const Index part = port == Point::q ? 0 : port == Point::k ? 1 : 2;
  return to_contiguous(read_by_heads(model_, layer, part, streams));
}

// Streams of the readers, [R, N, C], with cut senders as on the other text.
Tensor EdgeCut::streams_of(Point port, Index layer) const {
  const auto [first, count, senders] = graph_.port(port, layer);
  std::vector<double> cut;
  for (Index receiver = first; receiver < first + count; ++receiver) {
    for (const bool is_kept : kept_[static_cast<std::size_t>(receiver)]) {
      cut.push_back(is_kept ? 0 : -1);
    }
  }
  const Tensor factors = convert(Tensor::from(cut, {count, senders}), stream_.dtype());
  const Tensor taken = matmul(factors, slice(change_.values(), 0, 0, senders));  // [R, N C]
  return reshape(taken, {count, stream_.size(0), stream_.size(1)}) +
         reshape(stream_, {1, stream_.size(0), stream_.size(1)});
}

bool EdgeCut::cuts_any(Point port, Index layer) const {
  const CircuitGraph::Port receivers = graph_.port(port, layer);
  const auto first = kept_.begin() + receivers.first;
  return std::any_of(first, first + receivers.count, [](const std::vector<bool>& kept) {
    return std::find(kept.begin(), kept.end(), false) != kept.end();
  });
}

}  // namespace headlight
