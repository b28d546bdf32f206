#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/patching.h"
#include "headlight/nn/gpt.h"

// Which heads and MLPs a model uses for a task, and who reads what whom writes.
namespace headlight {

enum class CircuitPart { embed, head, mlp, logits };

struct CircuitNode {
  CircuitPart part = CircuitPart::embed;
  Index layer = 0;  // of heads and MLPs
  Index head = 0;   // number of a head; the first of those that share keys and values
  Index last = 0;   // the last of those; else the head itself

  bool operator==(const CircuitNode&) const = default;
};

// "embed", "5.1", "5.0-2" (heads that share keys and values), "mlp.5", "logits".
std::string node_name(const CircuitNode& node);

// What a node adds to the residual stream, as another reads it from there: of a head its share of
// what attention adds. A norm behind a branch (output_norms) divides each share by what it divides
// the sum of the heads by, so the edge of a part carries its normed output. A post-norm divides
// whatever stands in the stream: an edge carries what its sender wrote, as every post-norm between
// the two has divided and scaled it in that pass. Biases and shifts that norms divide go with the
// heads of their layer in equal parts, or with its MLP. With shared_norm heads and MLP read through
// the one norm, each a stream of its own.
struct CircuitEdge {
  CircuitNode from;
  CircuitNode to;
  std::optional<Point> into = {};  // q, k or v of heads
  // Share of the difference between the texts that it carries, by attribution; negative: it works
  // against the answer.
  double score = 0;
  bool is_kept = false;
};

// "0.4>3.1.k"
std::string edge_name(const CircuitEdge& edge);

struct CircuitOptions {
  // Points on the straight line from the corrupt text's embeddings to the clean one's at which
  // gradients are taken; 1: at the clean text alone.
  Index steps = 5;
  Index edges = 0;                            // to keep, at most; 0: as many as faithfulness takes
  double faithfulness = 0.8;                  // to reach, when no number of edges is given
  std::function<void(double)> progress = {};  // the share of the work that is done
};

struct CircuitFit {
  Index edges = 0;          // the strongest so many, of which some may lead nowhere
  double faithfulness = 0;  // 1: as the whole model, 0: as on the corrupt text
};

struct CircuitResult {
  double clean_difference = 0;  // means over the pairs, as PatchingResult
  double corrupt_difference = 0;
  Index pairs_done = 0;            // that the model does clearly
  std::vector<CircuitEdge> edges;  // all, the strongest first
  Index kept = 0;                  // that begin at the embedding and lead to the logits
  double faithfulness = 0;         // of these alone, measured
  std::vector<CircuitFit> curve;   // of more and more edges, measured
};

// Finds the edges of a task by edge attribution patching with integrated gradients (Syed, Rager and
// Conmy, arXiv 2310.10348; Hanna, Pezzelle and Belinkov, arXiv 2403.17806), and checks them: the
// model reads the clean text while every edge that is not kept carries what it carries on the
// corrupt one (Wang et al., arXiv 2211.00593; Conmy et al., arXiv 2304.14997). Memory grows with
// nodes x tokens x C.
// Throws Error as patch_heads() for a pair, naming it, and about "pairs" for none.
CircuitResult find_circuit(const Gpt& model, const std::vector<PatchingTask>& tasks,
                           const CircuitOptions& options = {});

struct EdgePatch {
  double difference = 0;  // as HeadPatch
  double recovered = 0;
};

// Path patching along one edge, of which only the ends count, as patch_path() between two heads:
// the model reads the corrupt text, while the edge carries what it carries on the clean one. Throws
// Error as patch_heads() does, and about "edge" for one that the model does not have.
EdgePatch patch_edge(const Gpt& model, const PatchingTask& task, const CircuitEdge& edge);

}  // namespace headlight
