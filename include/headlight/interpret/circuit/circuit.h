#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/effects/patching.h"
#include "headlight/nn/gpt.h"

// Circuits: the heads and MLPs that a model uses for a task, and the edges between them.
namespace headlight {

enum class CircuitPart { embed, head, mlp, logits };

struct CircuitNode {
  CircuitPart part = CircuitPart::embed;
  Index layer = 0;  // of heads and MLPs
  Index head = 0;   // number of a head; the first of a group with shared keys and values
  Index last = 0;   // the last head of that group; else the same head

  bool operator==(const CircuitNode&) const = default;
};

// "embed", "5.1", "5.0-2" (heads with shared keys and values), "mlp.5", "logits".
std::string node_name(const CircuitNode& node);

// The contribution of one node to the residual stream, as another node reads it. A head's
// contribution is its share of the attention output. An output norm (output_norms) divides each
// share by the scale of the heads' sum, so an edge carries the normed output. Every post-norm
// between sender and receiver divides and scales the contribution too. Biases and shifts divided by
// norms are split equally among the heads of their layer, or go to its MLP. With shared_norm, heads
// and MLP read separate streams through the same norm.
struct CircuitEdge {
  CircuitNode from;
  CircuitNode to;
  std::optional<Point> into = {};  // q, k or v of heads
  // Attributed share of the difference between the texts. Negative: it works against the answer.
  // With CircuitRanking::mask the mask, 0 to 1.
  double score = 0;
  bool is_kept = false;
};

// "0.4>3.1.k"
std::string edge_name(const CircuitEdge& edge);

// Values that cut edges carry.
enum class CircuitAblation {
  corrupt,   // the sender's on the corrupt text of the pair
  mean,      // its mean over the corrupt texts of all pairs, position by position
  resample,  // the sender's on the corrupt text of the next pair
};
template <>
inline constexpr auto kChoices<CircuitAblation> =
    std::to_array<Choice<CircuitAblation>>({{"corrupt", CircuitAblation::corrupt},
                                            {"mean", CircuitAblation::mean},
                                            {"resample", CircuitAblation::resample}});

// What edges are ranked by.
enum class CircuitRanking {
  attribution,  // edge attribution patching with integrated gradients
  mask,         // masks that are learned
};
template <>
inline constexpr auto kChoices<CircuitRanking> = std::to_array<Choice<CircuitRanking>>(
    {{"attribution", CircuitRanking::attribution}, {"mask", CircuitRanking::mask}});

// An edge of a given circuit.
struct NamedEdge {
  std::string name;  // as edge_name()
  double score = 0;  // orders the edges by size; equal ones keep the model's order
};

struct CircuitOptions {
  CircuitRanking ranking = CircuitRanking::attribution;
  // attribution: points on the line from the corrupt to the clean embeddings where gradients are
  // taken (integrated gradients), 1: at the clean text only; none: 5. mask: steps of learning;
  // none: 100.
  std::optional<Index> steps = {};
  Index used_steps() const { return steps.value_or(ranking == CircuitRanking::mask ? 100 : 5); }
  Index edges = 0;  // edges to keep at most; 0: enough for `faithfulness`
  // Target if `edges` is 0, above 0 to 1; none: 0.8. Not together with `edges`.
  std::optional<double> faithfulness = {};
  CircuitAblation ablation = CircuitAblation::corrupt;
  Index random_sets = 0;      // sets of random edges to measure for comparison
  std::uint64_t seed = 1337;  // of the random edges
  // A circuit to measure: the edges are not scored anew, and all are kept unless `edges` is given.
  std::vector<NamedEdge> given = {};
  std::vector<NamedEdge> other = {};  // a circuit to compare with the one that is kept
  Index memory = 0;  // bytes of changed passes at once; 0: a quarter of what is free
  std::function<void(double)> progress = [](double) {};  // share of the work, 0 to 1
};

struct CircuitFit {
  Index edges = 0;          // number of strongest edges, dead ends included
  double faithfulness = 0;  // 1: as the whole model, 0: with all edges cut
};

// The measure of one pair of texts.
struct CircuitPairValues {
  double clean = 0;    // after the clean text
  double corrupt = 0;  // after the corrupt text
  double cut = 0;      // after the clean text with all edges cut
  double circuit = 0;  // with all edges cut but those of the circuit
};

// Another circuit beside the one that is kept.
struct CircuitOverlap {
  Index edges = 0;          // of the other, without dead ends
  Index shared = 0;         // of them in both
  double chance = 0;        // mean number of shared edges of random sets of these sizes
  double jaccard = 0;       // shared edges of all in either
  double faithfulness = 0;  // of the other on the same pairs
};

struct CircuitResult {
  double clean_difference = 0;  // means over the pairs, as in PatchGrid
  double corrupt_difference = 0;
  Index pairs_done = 0;            // pairs of TaskStrength::clear
  std::vector<CircuitEdge> edges;  // all edges, strongest first
  Index kept = 0;                  // kept edges: on a path from embedding to logits
  double faithfulness = 0;         // of the kept edges, measured
  // Faithfulness of as many random edges on paths from embedding to logits: mean, least and largest
  // of CircuitOptions::random_sets.
  std::optional<Interval> random = {};
  std::vector<CircuitFit> curve;             // for growing numbers of edges, measured
  std::vector<CircuitPairValues> pairs;      // in input order
  std::optional<CircuitOverlap> other = {};  // of CircuitOptions::other
};

// Finds the edges of a task by edge attribution patching with integrated gradients (Syed, Rager and
// Conmy, arXiv 2310.10348; Hanna, Pezzelle and Belinkov, arXiv 2403.17806), or by masks that are
// learned on the frozen model (Cao, Sanh and Rush, arXiv 2104.03514; Bhaskar et al., arXiv
// 2406.16778). A mask is the share of an edge's change that its reader sees. AdamW trains all masks
// to keep the measure after the clean texts, with a growing penalty on open ones. Then verifies the
// edges: the
// model reads the clean text while all other edges carry their corrupt values (Wang et al., arXiv
// 2211.00593; Conmy et al., arXiv 2304.14997), or those of CircuitOptions::ablation. With all edges
// cut, the model reads these values only, as it reads the corrupt text. Memory grows with nodes x
// tokens x C. Throws Error as patch_grid(), naming the pair, and about "pairs" for no pairs. mean
// Throws Error for bidirectional models and about options out of range. mean and resample need
// texts of one length and, resample, two pairs; mean and mask refuse post-norm models. Throws Error
// about "circuit" or "other" for an edge that the model does not have, or that is named twice.
CircuitResult find_circuit(const Gpt& model, const std::vector<PatchingTask>& tasks,
                           const CircuitOptions& options = {});

}  // namespace headlight
