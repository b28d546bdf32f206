#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/heads/circuit/circuit.h"
#include "heads/circuit/edge_cut.h"
#include "heads/effects/answer_contrast.h"

namespace headlight {
namespace {

// Keeps all edges of a graph except one.
KeptEdges all_but(const CircuitGraph& graph, const CircuitEdge& edge) {
  const std::vector<CircuitNode>& senders = graph.senders();
  const Index sender = std::find(senders.begin(), senders.end(), edge.from) - senders.begin();
  KeptEdges kept;
  bool is_found = false;
  for (const CircuitGraph::Receiver& receiver : graph.receivers()) {
    kept.emplace_back(static_cast<std::size_t>(receiver.senders), true);
    if (receiver.node == edge.to && receiver.into == edge.into && sender < receiver.senders) {
      kept.back()[static_cast<std::size_t>(sender)] = false;
      is_found = true;
    }
  }
  require_value(is_found, "edge", "this model has no ", edge_name(edge));
  return kept;
}

}  // namespace

EdgePatch patch_edge(const Gpt& model, const PatchingTask& task, const CircuitEdge& edge) {
  const NoGrad no_grad;
  const AnswerContrast contrast(model, task);
  const CircuitGraph graph(model);
  const KeptEdges kept = all_but(graph, edge);
  const double clean = contrast.difference(model, task.clean);
  const double corrupt = contrast.difference(model, task.corrupt);
  require_different(clean, corrupt);
  const SenderRows other = sender_rows(model, graph, contrast.batch(task.clean));
  EdgeCut hook(model, graph, kept, other);
  const double difference = contrast.difference(model, task.corrupt, &hook);
  return {.difference = difference, .recovered = (difference - corrupt) / (clean - corrupt)};
}

}  // namespace headlight
