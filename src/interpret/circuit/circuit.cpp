#include "headlight/interpret/circuit/circuit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>

#include "headlight/base/error.h"
#include "headlight/tensor/random.h"
#include "interpret/circuit/circuit_texts.h"
#include "interpret/layer_maps.h"

namespace headlight {
namespace {

// Index of an edge: receiver, then sender.
using EdgeIndex = std::pair<std::size_t, std::size_t>;

class CircuitSearch {
 public:
  CircuitSearch(const Gpt& model, const std::vector<PatchingTask>& tasks,
                const CircuitOptions& options)
      : options_(options),
        graph_(checked(model, tasks)),
        texts_(model, graph_, tasks, options.memory) {
    if (options.ablation == CircuitAblation::corrupt) {
      return;
    }
    require_value(texts_.are_alike(), "pairs", "ablation by ", name_of(options.ablation),
                  " needs texts of the same number of tokens");
    if (options.ablation == CircuitAblation::mean) {
      require_value(model.config().norm != NormPosition::post, "ablation",
                    "mean values have no meaning in a post-norm model; use resample");
      texts_.cut_to_mean();
    } else {
      require_value(tasks.size() >= 2, "pairs", "resample needs two pairs or more, got 1");
      texts_.cut_to_next();
    }
  }

  CircuitResult run() {
    const KeptEdges other = edges_named(options_.other, "other");
    score();
    CircuitResult result;
    for (std::size_t pair = 0; pair < texts_.pairs(); ++pair) {
      const auto count = static_cast<double>(texts_.pairs());
      result.clean_difference += texts_.clean()[pair] / count;
      result.corrupt_difference += texts_.corrupt()[pair] / count;
      const TaskStrength strength = task_strength(texts_.clean()[pair], texts_.corrupt()[pair]);
      result.pairs_done += strength == TaskStrength::clear ? 1 : 0;
    }
    result.curve = curve();
    const KeptEdges kept = connected(chosen(result.curve));
    measure(kept, result);
    for (const auto& [receiver, sender] : order_) {
      const CircuitGraph::Receiver& reader = graph_.receivers()[receiver];
      result.edges.push_back({graph_.senders()[sender], reader.node, reader.into,
                              scores_[receiver][sender], kept[receiver][sender]});
      result.kept += kept[receiver][sender] ? 1 : 0;
    }
    if (options_.random_sets > 0) {
      result.random = random_faithfulness(result.kept);
    }
    if (!options_.other.empty()) {
      result.other = overlap_with(other, kept, result.kept);
    }
    return result;
  }

 private:
  // Returns the faithfulness of growing numbers of the strongest edges, measured.
  std::vector<CircuitFit> curve() const {
    const Index all = options_.given.empty() ? std::ssize(order_) : std::ssize(options_.given);
    std::vector<CircuitFit> curve;
    std::vector<KeptEdges> sets;
    for (Index edges = 1; edges < 2 * all; edges *= 2) {
      curve.push_back({.edges = std::min(edges, all)});
      sets.push_back(connected(curve.back().edges));
    }
    const std::vector<double> reached =
        faithfulness_of(sets, [&](double share) { options_.progress(0.5 + 0.4 * share); });
    for (std::size_t i = 0; i < reached.size(); ++i) {
      curve[i].faithfulness = reached[i];
    }
    return curve;
  }

  // Sets the measures of a circuit.
  void measure(const KeptEdges& kept, CircuitResult& result) const {
    const std::vector<double> reached = texts_.differences_with({&kept, 1}).front();
    for (std::size_t pair = 0; pair < texts_.pairs(); ++pair) {
      result.pairs.push_back(
          {texts_.clean()[pair], texts_.corrupt()[pair], texts_.empty()[pair], reached[pair]});
    }
    result.faithfulness = share_of(reached);
  }

  CircuitOverlap overlap_with(const KeptEdges& named, const KeptEdges& kept, Index count) const {
    const KeptEdges other = without_dead_ends(named);
    CircuitOverlap overlap{.faithfulness = faithfulness_of({other}).front()};
    for (const auto& [receiver, sender] : order_) {
      overlap.edges += other[receiver][sender] ? 1 : 0;
      overlap.shared += other[receiver][sender] && kept[receiver][sender] ? 1 : 0;
    }
    const Index either = count + overlap.edges - overlap.shared;
    overlap.chance = static_cast<double>(count) * static_cast<double>(overlap.edges) /
                     static_cast<double>(order_.size());
    overlap.jaccard =
        either > 0 ? static_cast<double>(overlap.shared) / static_cast<double>(either) : 0;
    return overlap;
  }

  // Returns the edges of these names, of which some are on a path from the embedding to the logits,
  // and sets their scores if asked to.
  KeptEdges edges_named(const std::vector<NamedEdge>& edges, const char* about,
                        std::vector<std::vector<double>>* scores = nullptr) const {
    KeptEdges named = graph_.no_edges();
    if (edges.empty()) {
      return named;
    }
    std::map<std::string, EdgeIndex> indices;
    for (std::size_t r = 0; r < named.size(); ++r) {
      const CircuitGraph::Receiver& reader = graph_.receivers()[r];
      for (std::size_t s = 0; s < named[r].size(); ++s) {
        indices[edge_name({graph_.senders()[s], reader.node, reader.into})] = {r, s};
      }
    }
    for (const NamedEdge& edge : edges) {
      const auto found = indices.find(edge.name);
      require_value(found != indices.end(), about, "the model has no edge ", edge.name);
      const auto [receiver, sender] = found->second;
      require_value(!named[receiver][sender], about, "names ", edge.name, " twice");
      named[receiver][sender] = true;
      if (scores != nullptr) {
        (*scores)[receiver][sender] = edge.score;
      }
    }
    const KeptEdges useful = without_dead_ends(named);
    const bool has_path = std::ranges::any_of(useful, [](const std::vector<bool>& senders) {
      return std::ranges::count(senders, true) > 0;
    });
    require_value(has_path, about,
                  "expected a path from embed to logits, but all edges lead nowhere");
    return named;
  }

  // Returns mean, least and largest faithfulness of sets of `count` random edges.
  Interval random_faithfulness(Index count) const {
    Interval result{0, std::numeric_limits<double>::infinity(),
                    -std::numeric_limits<double>::infinity()};
    std::vector<KeptEdges> sets;
    for (Index set = 0; set < options_.random_sets; ++set) {
      sets.push_back(random_edges(count, set));
    }
    for (const double faithfulness : faithfulness_of(sets)) {
      result.mean += faithfulness / static_cast<double>(options_.random_sets);
      result.low = std::min(result.low, faithfulness);
      result.high = std::max(result.high, faithfulness);
    }
    return result;
  }

  // Returns a union of random paths with `count` edges, or a few less where no path fits. All edges
  // of a circuit are on paths from the embedding to the logits; others carry nothing.
  KeptEdges random_edges(Index count, Index set) const {
    constexpr Index kTries = 1000;
    const RandomStream stream{options_.seed, static_cast<std::uint64_t>(set)};
    const std::vector<std::vector<std::size_t>> inputs = sender_inputs();
    std::uint64_t draws = 0;
    const auto random = [&](std::size_t choices) { return stream.below(draws++, choices); };
    KeptEdges kept = graph_.no_edges();
    for (Index misses = 0; count > 0 && misses < kTries; ++misses) {
      std::vector<EdgeIndex> path = random_path(inputs, random);
      std::erase_if(path, [&](const EdgeIndex& edge) { return kept[edge.first][edge.second]; });
      if (!path.empty() && std::ssize(path) <= count) {
        for (const EdgeIndex& edge : path) {
          kept[edge.first][edge.second] = true;
        }
        count -= std::ssize(path);
        misses = 0;
      }
    }
    return kept;
  }

  // Draws a path backwards: from the logits to a sender, from one of its inputs to a sender ... to
  // the embedding.
  template <class Random>
  std::vector<EdgeIndex> random_path(const std::vector<std::vector<std::size_t>>& inputs,
                                     const Random& random) const {
    std::vector<EdgeIndex> path;
    std::size_t receiver = graph_.receivers().size() - 1;
    while (true) {
      const auto sender = static_cast<std::size_t>(
          random(static_cast<std::size_t>(graph_.receivers()[receiver].senders)));
      path.emplace_back(receiver, sender);
      if (inputs[sender].empty()) {
        return path;
      }
      receiver = inputs[sender][random(inputs[sender].size())];
    }
  }

  // Returns the receivers that are inputs of each sender; none for the embedding.
  std::vector<std::vector<std::size_t>> sender_inputs() const {
    std::vector<std::vector<std::size_t>> inputs(graph_.senders().size());
    for (std::size_t receiver = 0; receiver < graph_.receivers().size(); ++receiver) {
      for (const std::size_t sender : graph_.readers(receiver)) {
        inputs[sender].push_back(receiver);
      }
    }
    return inputs;
  }

  void score() {
    for (const CircuitGraph::Receiver& receiver : graph_.receivers()) {
      scores_.emplace_back(static_cast<std::size_t>(receiver.senders), 0.0);
    }
    const KeptEdges given = edges_named(options_.given, "circuit", &scores_);
    const auto progress = [&](double share) { options_.progress(0.5 * share); };
    double divisor = 1;
    if (options_.given.empty() && options_.ranking == CircuitRanking::mask) {
      texts_.add_masks(options_.used_steps(), scores_, progress);
    } else if (options_.given.empty()) {
      texts_.add_scores(options_.used_steps(), scores_, progress);
      divisor = static_cast<double>(texts_.pairs());
    }
    for (std::size_t receiver = 0; receiver < scores_.size(); ++receiver) {
      for (std::size_t sender = 0; sender < scores_[receiver].size(); ++sender) {
        scores_[receiver][sender] /= divisor;
        order_.push_back({receiver, sender});
      }
    }
    std::stable_sort(order_.begin(), order_.end(), [&](const EdgeIndex& a, const EdgeIndex& b) {
      return std::abs(scores_[a.first][a.second]) > std::abs(scores_[b.first][b.second]);
    });
    std::stable_partition(order_.begin(), order_.end(),
                          [&](const EdgeIndex& edge) { return given[edge.first][edge.second]; });
  }

  // Returns the `edges` strongest edges without dead ends.
  KeptEdges connected(Index edges) const {
    KeptEdges kept = graph_.no_edges();
    for (Index i = 0; i < edges; ++i) {
      const EdgeIndex& edge = order_[static_cast<std::size_t>(i)];
      kept[edge.first][edge.second] = true;
    }
    return without_dead_ends(std::move(kept));
  }
  // Drops edges on no path of kept edges from the embedding to the logits. They have no effect.
  KeptEdges without_dead_ends(KeptEdges kept) const {
    std::vector<bool> is_fed(graph_.senders().size(), false);  // has a kept path from the embedding
    is_fed[0] = true;
    for (std::size_t receiver = 0; receiver < kept.size(); ++receiver) {
      if (keep_where(is_fed, kept[receiver])) {
        for (const std::size_t reader : graph_.readers(receiver)) {
          is_fed[reader] = true;
        }
      }
    }
    std::vector<bool> is_heard(graph_.senders().size(), false);  // has a kept path to the logits
    for (std::size_t receiver = kept.size(); receiver-- > 0;) {
      const std::vector<std::size_t> readers = graph_.readers(receiver);
      const bool leads_on = graph_.receivers()[receiver].node.part == CircuitPart::logits ||
                            std::any_of(readers.begin(), readers.end(),
                                        [&](auto reader) { return is_heard[reader]; });
      for (std::size_t sender = 0; sender < kept[receiver].size(); ++sender) {
        kept[receiver][sender] = kept[receiver][sender] && leads_on;
        is_heard[sender] = is_heard[sender] || kept[receiver][sender];
      }
    }
    return kept;
  }
  // Drops the edges of a receiver from senders without `is_fed`. Returns whether any is left.
  static bool keep_where(const std::vector<bool>& is_fed, std::vector<bool>& kept) {
    bool any = false;
    for (std::size_t sender = 0; sender < kept.size(); ++sender) {
      kept[sender] = kept[sender] && is_fed[sender];
      any = any || kept[sender];
    }
    return any;
  }

  // Returns the model if tasks and options are valid.
  const Gpt& checked(const Gpt& model, const std::vector<PatchingTask>& tasks) const {
    constexpr Index kMost = 1000;
    require_value(!tasks.empty(), "pairs", "expected at least one pair of texts");
    require_causal(model);
    const double wanted = wanted_faithfulness();
    require_value(wanted > 0 && wanted <= 1, "faithfulness", "expected a number above 0 to 1, got ",
                  wanted);
    require_value(options_.edges >= 0, "edges", "expected a number from 0, got ", options_.edges);
    require_value(options_.edges == 0 || !options_.faithfulness, "faithfulness",
                  "cannot be combined with edges; give one of the two");
    const Index count = options_.used_steps();
    require_value(count >= 1 && count <= kMost, "steps", "expected 1 to ", kMost, ", got ", count);
    require_value(
        options_.ranking != CircuitRanking::mask || model.config().norm != NormPosition::post,
        "ranking", "mask is not for post-norm models; use attribution");
    require_value(options_.random_sets >= 0 && options_.random_sets <= kMost, "random_sets",
                  "expected 0 to ", kMost, ", got ", options_.random_sets);
    return model;
  }
  double wanted_faithfulness() const {
    constexpr double kDefault = 0.8;
    return options_.faithfulness.value_or(kDefault);
  }

  // Returns the faithfulness of each set.
  std::vector<double> faithfulness_of(
      const std::vector<KeptEdges>& sets,
      const std::function<void(double)>& progress = [](double) {}) const {
    std::vector<double> reached;
    for (const std::vector<double>& differences : texts_.differences_with(sets, progress)) {
      reached.push_back(share_of(differences));
    }
    return reached;
  }
  // Returns the faithfulness of differences [pairs].
  double share_of(const std::vector<double>& differences) const {
    const auto total = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0);
    };
    const double empty = total(texts_.empty());
    return (total(differences) - empty) / (total(texts_.clean()) - empty);
  }

  // Returns the number of edges to keep: the edges wanted, all of a given circuit, or the smallest
  // number that reaches the faithfulness wanted, by bisection between two points of the curve
  // (tolerance 1/32).
  Index chosen(const std::vector<CircuitFit>& curve) const {
    if (options_.edges > 0 || !options_.given.empty()) {
      const Index all = curve.back().edges;
      return options_.edges > 0 ? std::min(options_.edges, all) : all;
    }
    Index low = 0;
    Index high = curve.back().edges;
    for (const CircuitFit& fit : curve) {
      if (fit.faithfulness >= wanted_faithfulness()) {
        high = fit.edges;
        break;
      }
      low = fit.edges;
    }
    const auto is_close = [](Index least, Index most) {
      return most - least <= std::max<Index>(1, most / 32);
    };
    while (!is_close(low, high)) {
      constexpr std::size_t kSets = 7;  // the middles of the next three steps, in one pass
      std::vector<std::pair<Index, Index>> ranges{{low, high}};
      std::vector<KeptEdges> sets;
      for (std::size_t i = 0; i < kSets; ++i) {
        const auto [least, most] = ranges[i];
        const Index middle = (least + most) / 2;
        sets.push_back(connected(middle));
        ranges.insert(ranges.end(), {{least, middle}, {middle, most}});
      }
      const std::vector<double> reached = faithfulness_of(sets);
      for (std::size_t i = 0; i < kSets && !is_close(low, high);) {
        const bool is_reached = reached[i] >= wanted_faithfulness();
        (is_reached ? high : low) = (low + high) / 2;
        i = 2 * i + (is_reached ? 1 : 2);
      }
    }
    return high;
  }

  const CircuitOptions& options_;
  CircuitGraph graph_;
  CircuitTexts texts_;
  std::vector<std::vector<double>> scores_;  // [receivers] of [senders]
  std::vector<EdgeIndex> order_;             // the strongest first
};

}  // namespace

CircuitResult find_circuit(const Gpt& model, const std::vector<PatchingTask>& tasks,
                           const CircuitOptions& options) {
  return CircuitSearch(model, tasks, options).run();
}

}  // namespace headlight
