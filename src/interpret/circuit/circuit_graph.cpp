#include "interpret/circuit/circuit_graph.h"

#include "base/transformed.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

// Node for the heads at indices `first` to `last` of a layer.
CircuitNode head_node(const HeadLayout& heads, Index layer, Index first, Index last) {
  const std::vector<Index>& numbers = heads.numbers[static_cast<std::size_t>(layer)];
  return {CircuitPart::head, layer, numbers[static_cast<std::size_t>(first)],
          numbers[static_cast<std::size_t>(last)]};
}

}  // namespace

std::string node_name(const CircuitNode& node) {
  switch (node.part) {
    case CircuitPart::embed:
      return "embed";
    case CircuitPart::mlp:
      return concat_text("mlp.", node.layer);
    case CircuitPart::logits:
      return "logits";
    case CircuitPart::head:
      break;
  }
  return concat_text(node.layer, ".", node.head,
                     node.last > node.head ? concat_text("-", node.last) : std::string());
}

std::string edge_name(const CircuitEdge& edge) {
  return node_name(edge.from) + ">" + node_name(edge.to) +
         (edge.into ? "." + std::string(name_of(*edge.into)) : "");
}

CircuitGraph::CircuitGraph(const Gpt& model) : model_(model) {
  const GptConfig& config = model.config();
  const HeadLayout heads = model.heads();
  senders_.push_back({CircuitPart::embed});
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const BlockPlan plan = block_plan(config, layer);
    heads_.push_back(std::ssize(senders_));
    add_readers(plan, layer);
    const CircuitNode mlp{CircuitPart::mlp, layer};
    const Index before = std::ssize(senders_);
    for (Index index = 0; index < plan.attention.heads; ++index) {
      senders_.push_back(head_node(heads, layer, index, index));
    }
    if (plan.mlp_width) {
      const Index visible = plan.parallel ? before : std::ssize(senders_);
      ports_[{mlp_port(), layer}] = {std::ssize(receivers_), 1, visible};
      receivers_.push_back({mlp, std::nullopt, visible});
      senders_.push_back(mlp);
    }
  }
  ports_[{Point::logits, config.n_layer - 1}] = {std::ssize(receivers_), 1, std::ssize(senders_)};
  receivers_.push_back({{CircuitPart::logits}, std::nullopt, std::ssize(senders_)});
}

void CircuitGraph::add_readers(const BlockPlan& plan, Index layer) {
  const AttentionPlan& attention = plan.attention;
  const HeadLayout heads = model_.heads();
  for (const Point port : {Point::q, Point::k, Point::v}) {
    const Index count = port == Point::q ? attention.heads : attention.key_heads;
    ports_[{port, layer}] = {std::ssize(receivers_), count, std::ssize(senders_)};
    for (Index index = 0; index < count; ++index) {
      Index first = index;
      Index last = index;
      if (port != Point::q) {
        first = 0;
        while (attention.key_head(first) < index) {
          ++first;
        }
        for (last = first; last + 1 < attention.heads && attention.key_head(last + 1) == index;) {
          ++last;
        }
      }
      receivers_.push_back({head_node(heads, layer, first, last), port, std::ssize(senders_)});
    }
  }
}

CircuitGraph::Port CircuitGraph::port(Point point, Index layer) const {
  const auto found = ports_.find({point, layer});
  return found == ports_.end() ? Port{} : found->second;
}

std::vector<std::size_t> CircuitGraph::readers(std::size_t receiver) const {
  const CircuitNode& port = receivers_[receiver].node;
  std::vector<std::size_t> readers;
  for (std::size_t sender = 0; sender < senders_.size(); ++sender) {
    const CircuitNode& node = senders_[sender];
    if (port.part == node.part && port.layer == node.layer && node.head >= port.head &&
        node.head <= port.last) {
      readers.push_back(sender);
    }
  }
  return readers;
}

KeptEdges CircuitGraph::no_edges() const {
  return transformed(receivers_, [](const Receiver& receiver) {
    return std::vector<bool>(static_cast<std::size_t>(receiver.senders), false);
  });
}

Point CircuitGraph::mlp_port() const {
  const GptConfig& config = model_.config();
  return config.norm == NormPosition::pre && !config.shared_norm ? Point::ln2 : Point::mlp_out;
}

}  // namespace headlight
