#include "heads/circuit/circuit_graph.h"

#include <algorithm>

#include "headlight/base/error.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

void check_model(const GptConfig& config) {
  require(config.norm == NormPosition::pre && !config.output_norms && !config.shared_norm,
          "circuits need a model with norm = pre, without output_norms and shared_norm: else its "
          "residual stream is no plain sum of what is read");
}

// The heads at these places of a layer, as one node.
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
  check_model(config);
  const HeadLayout heads = model.heads();
  senders_.push_back({CircuitPart::embed});
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const BlockPlan plan = block_plan(config, layer);
    heads_.push_back(std::ssize(senders_));
    add_readers(plan, layer);
    const CircuitNode mlp{CircuitPart::mlp, layer};
    const Index before = std::ssize(senders_);
    for (Index place = 0; place < plan.attention.heads; ++place) {
      senders_.push_back(head_node(heads, layer, place, place));
    }
    if (plan.mlp_width) {
      receivers_.push_back({mlp, std::nullopt, plan.parallel ? before : std::ssize(senders_)});
      senders_.push_back(mlp);
    }
  }
  receivers_.push_back({{CircuitPart::logits}, std::nullopt, std::ssize(senders_)});
}

void CircuitGraph::add_readers(const BlockPlan& plan, Index layer) {
  const AttentionPlan& attention = plan.attention;
  const HeadLayout heads = model_.heads();
  for (const Point port : {Point::q, Point::k, Point::v}) {
    const Index count = port == Point::q ? attention.heads : attention.key_heads;
    for (Index place = 0; place < count; ++place) {
      Index first = place;
      Index last = place;
      if (port != Point::q) {
        first = 0;
        while (attention.key_head(first) < place) {
          ++first;
        }
        for (last = first; last + 1 < attention.heads && attention.key_head(last + 1) == place;) {
          ++last;
        }
      }
      receivers_.push_back({head_node(heads, layer, first, last), port, std::ssize(senders_)});
    }
  }
}

Index CircuitGraph::first_receiver(Point port, Index layer) const {
  const auto found =
      std::find_if(receivers_.begin(), receivers_.end(), [&](const Receiver& receiver) {
        switch (receiver.node.part) {
          case CircuitPart::logits:
            return port == Point::logits;
          case CircuitPart::mlp:
            return port == Point::ln2 && receiver.node.layer == layer;
          default:
            return receiver.into == port && receiver.node.layer == layer;
        }
      });
  return found - receivers_.begin();
}

Index CircuitGraph::receiver_count(Point port, Index layer) const {
  const AttentionPlan plan = block_plan(model_.config(), layer).attention;
  return port == Point::q ? plan.heads : port == Point::k || port == Point::v ? plan.key_heads : 1;
}

bool CircuitGraph::is_written(Point point, Index layer) {
  return point == Point::result || point == Point::mlp_out ||
         (point == Point::resid_pre && layer == 0);
}

Tensor CircuitGraph::written(const PointValues& values) const {
  const Tensor& embedding = values.at({Point::resid_pre, 0});  // [N, C]
  std::vector<Tensor> rows{reshape(embedding, {1, embedding.numel()})};
  for (Index layer = 0; layer < model_.config().n_layer; ++layer) {
    const Tensor& result = values.at({Point::result, layer});  // [N, H, C]
    rows.push_back(
        reshape(to_contiguous(transpose(result, 0, 1)), {result.size(1), embedding.numel()}));
    if (const auto mlp = values.find({Point::mlp_out, layer}); mlp != values.end()) {
      rows.push_back(reshape(mlp->second, {1, embedding.numel()}));
    }
  }
  return concat(rows, 0);
}

}  // namespace headlight
