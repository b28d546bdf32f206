#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/circuit/circuit.h"
#include "headlight/interpret/head_id.h"

// Path patching (Wang et al., arXiv 2211.00593; Goldowsky-Dill et al., arXiv 2304.05969).
namespace headlight {

// Input of a node: of a head with `into` q, k or v; of an MLP or the logits without it.
struct PathReceiver {
  CircuitNode node;
  std::optional<Point> into = {};
};

// Direct paths from the output of a node to inputs of later nodes, which change together.
struct PatchPath {
  CircuitNode from;
  std::vector<PathReceiver> to;
  // MLPs between sender and receivers: false: keep their corrupt outputs; true: are computed from
  // the changed stream, so that paths through them count.
  bool recompute_mlps = false;
};

// Parses "embed", "mlp.3", "logits" or a head, "5.1". Throws Error about `about`.
CircuitNode parse_node(std::string_view about, std::string_view text);
// Parses "5.1.q", "mlp.3" or "logits". Throws Error about `about`.
PathReceiver parse_receiver(std::string_view about, std::string_view text);

// Returns the embedding, heads and MLPs of a model, in the order of a pass.
std::vector<CircuitNode> path_senders(const Gpt& model);
// Returns whether the output of a node is part of the receiver's input.
bool writes_before(const Gpt& model, const CircuitNode& from, const PathReceiver& to);

struct PathEffect {
  double difference = 0;  // as in PatchCell
  double recovered = 0;
};

// The model reads the corrupt text. The clean output of `from` reaches the receivers directly: all
// heads in between keep their corrupt outputs. The receivers' changed inputs then act on the whole
// model. The embedding is the input of the first layer. With grouped heads, keys and values belong
// to the group. Throws Error as patch_grid(), and about "sender" or "receiver" for nodes that the
// model does not have, for no receivers, and unless the sender writes before each receiver reads.
PathEffect patch_path(const Gpt& model, const PatchingTask& task, const PatchPath& path);

struct PathStudy {
  Interval recovered;             // mean over the pairs
  double difference = 0;          // mean
  std::vector<PathEffect> pairs;  // in input order
};

// Measures the paths from each of the senders, averaged over several pairs; path.from is not used.
// Costs one pass, or two, a sender and pair. Calls `progress` with the finished share, 0 to 1.
// `memory`: bytes of changed passes at once; 0: a quarter of what is free.
// Throws Error as patch_path(), with the pair's number from 1, and about "pairs" for no pairs.
std::vector<PathStudy> patch_paths(
    const Gpt& model, const std::vector<PatchingTask>& tasks,
    const std::vector<CircuitNode>& senders, PatchPath path,
    const std::function<void(double)>& progress = [](double) {}, Index memory = 0);

}  // namespace headlight
